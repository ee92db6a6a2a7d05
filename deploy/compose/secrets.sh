#!/bin/sh
# Prints variables with random secrets for deploy/compose.yaml: sh deploy/compose/secrets.sh > deploy/.env
set -eu
umask 077
hex() { openssl rand -hex "$1"; }
cat <<VARIABLES
# The name under which callers reach the service; the proxy gets a certificate for it. With localhost the certificate is the proxy's own.
RDS_HOST=localhost
POSTGRES_PASSWORD=$(hex 24)
RDS_MIGRATE_PASSWORD=$(hex 24)
RDS_SERVE_PASSWORD=$(hex 24)
RDS_READ_PASSWORD=$(hex 24)
RDS_ADMIN_TOKEN=$(hex 32)
RDS_ASSERTION_KEY=k1:$(hex 32)
RDS_MASTER_KEY=$(hex 32)
# Signs decisions, once it is activated: docker compose exec origin-a /usr/bin/rds-origin signers activate
RDS_SIGNING_KEY=$(hex 32)
VARIABLES
