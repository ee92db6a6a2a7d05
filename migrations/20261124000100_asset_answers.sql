-- Answers to the questionnaire about assets: what one source shows about one question.

CREATE TABLE asset_answer (
    asset_id       text NOT NULL REFERENCES asset,
    dimension      text NOT NULL,
    question       text NOT NULL,
    answer         text NOT NULL,
    -- When the source showed it.
    as_of          timestamptz NOT NULL,
    source_title   text NOT NULL,
    source_url     text NOT NULL,
    source_kind    text NOT NULL,
    note           text,
    -- A withdrawn answer stays: if its question has no valid answer left, it still counts, so that withdrawing it cannot raise a value.
    withdrawn      boolean NOT NULL,
    -- Version of the questionnaire that was answered.
    rubric_version text NOT NULL,
    source         text NOT NULL,
    -- When the reviewer gave the answer, or withdrew it.
    observed_at    timestamptz NOT NULL,
    content_hash   bytea NOT NULL,
    PRIMARY KEY (asset_id, dimension, question, answer, as_of, source_url)
);
