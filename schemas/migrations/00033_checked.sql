-- +goose Up
-- Statements whose outcome decides about their transaction fail by themselves, so
-- that the commit can travel with them.

-- +goose StatementBegin
create function cairn.changed(n bigint, due bigint) returns void
language plpgsql as $$
begin
  if n <> due then
    raise exception '% rows changed, not %', n, due using errcode = 'CA004';
  end if;
end $$;
-- +goose StatementEnd

-- Keeps a run from being ended until the transaction is over.
-- +goose StatementBegin
create function cairn.hold_run(ws bigint, run bigint) returns void
language plpgsql as $$
declare
  state text;
begin
  select status into state from cairn.runs where workspace_id = ws and id = run for share;
  if state is null then
    raise exception 'no run %', run using errcode = 'CA005';
  elsif state = 'ended' then
    raise exception 'run % has ended', run using errcode = 'CA006';
  end if;
end $$;
-- +goose StatementEnd
revoke all on function cairn.changed, cairn.hold_run from public;
grant execute on function cairn.changed, cairn.hold_run to cairn_app;
