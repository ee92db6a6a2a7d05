-- A search of dashes is no error.
--
-- websearch_to_tsquery reads every dash before a word as one more negation and gives up at the 32nd that waits for its word. So a dash
-- stays only where a word or a quoted phrase begins right behind it.
CREATE FUNCTION event_search_text(asked text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(asked, '-(?=$|[\s!#-/:-@\[-`{-~])', ' ', 'g')
$$;

CREATE OR REPLACE FUNCTION event_query(asked text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN numnode(websearch_to_tsquery('english', event_search_text(asked))) > 0
                THEN websearch_to_tsquery('english', event_search_text(asked))
                ELSE websearch_to_tsquery('event_words', event_search_text(asked)) END
$$;
