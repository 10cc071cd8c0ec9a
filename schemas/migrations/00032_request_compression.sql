-- +goose Up
-- A long conversation's request is stored for each model call. PostgreSQL's own
-- compression takes over a millisecond for 60 kB of it, lz4 a fifth of that and
-- twice the room. A server that was built without lz4 keeps its own.

-- +goose StatementBegin
do $$ begin
  alter table llm_calls alter column request set compression lz4;
exception when feature_not_supported then
  raise notice 'the server has no lz4: requests are compressed as before';
end $$;
-- +goose StatementEnd
