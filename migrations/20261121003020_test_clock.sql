-- How far a service with a test clock is from the real time, so that operators' verbs go by the same one. No row without such a service.
CREATE TABLE test_clock (
    only_one     boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    shift_micros bigint NOT NULL
);
