-- Who signed a basket's version: a signature over its content hash, written with the version and final like it.
--
-- A version that was made while the service had no key, or none that the registry let sign, stays unsigned.

alter table basket_version
    add column signature text check (signature ~ '^0x[0-9a-f]{130}$'),
    add constraint a_signature_names_its_key check ((signature is null) = (signing_key_id is null)),
    add constraint a_signer_is_in_the_registry foreign key (signing_key_id) references decision_signer;
