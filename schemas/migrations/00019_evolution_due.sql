-- +goose Up
-- Banks of memory skills evolve by themselves: at night, when questions were
-- answered badly since the last round.

alter table scheduled_tasks drop constraint scheduled_tasks_kind_check;
alter table scheduled_tasks add constraint scheduled_tasks_kind_check check (kind in ('reflection', 'curate', 'evolution', 'turn'));
insert into scheduled_tasks (workspace_id, name, kind, cron) select w.id, 'nightly-evolution', 'evolution', '40 2 * * *' from workspaces w on conflict (workspace_id, name) do nothing;
-- +goose StatementBegin
create or replace function cairn.open_workspace(ext text, make boolean) returns table (ws_id bigint, ws_key text, ws_state text)
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare made bigint;
begin
  return query select w.id, w.key, w.state from workspaces w where w.external_id = ext;
  if found or not make then return; end if;
  insert into workspaces (external_id, key)
    values (ext, 'w' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 16)) on conflict (external_id) do nothing returning id into made;
  if made is not null then
    insert into scheduled_tasks (workspace_id, name, kind, cron) values (made, 'daily-reflection', 'reflection', null), (made, 'weekly-curation', 'curate', '30 3 * * 0'),
      (made, 'nightly-evolution', 'evolution', '40 2 * * *');
  end if;
  return query select w.id, w.key, w.state from workspaces w where w.external_id = ext;
end $$;
-- +goose StatementEnd

-- The sweep starts nothing where no question waits: it sees that there is one.
create policy cases_system on cases for select to cairn_system using (state = 'open' and failures > 0);
grant select (workspace_id, state, failures) on cases to cairn_system;

-- What a scrape counts: days that three reflections in a row could not read.
create index reflection_runs_failed on reflection_runs (failures) where status = 'failed';
grant select (failures, updated_at) on reflection_runs to cairn_system;
