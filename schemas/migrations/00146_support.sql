-- +goose Up
-- The console of operators: numbers of all workspaces, without names and texts.

-- Sign-ins with an operator key. They are of no workspace.
create table operator_sessions (
  hash       bytea primary key check (length(hash) = 32), -- SHA-256 of the cookie; the cookie itself is not stored
  key_id     bigint not null references operator_keys,
  created_at timestamptz not null default now(),
  used_at    timestamptz not null default now(),          -- to one minute
  ends_at    timestamptz not null default now() + interval '7 days'
);
alter table operator_sessions enable row level security;
alter table operator_sessions force row level security;
create policy operator_sessions_system on operator_sessions to cairn_system using (true) with check (true);
create policy operator_sessions_owner on operator_sessions to cairn_owner using (true) with check (true);
grant select, insert, delete, update (used_at) on operator_sessions to cairn_system;

-- The functions run as cairn_support, which can read numbers, states, times and codes only.
create policy workspaces_support on workspaces for select to cairn_support using (true);
create policy conversations_support on conversations for select to cairn_support using (true);
create policy memories_support on memories for select to cairn_support using (true);
create policy skills_support on skills for select to cairn_support using (true);
create policy runs_support on runs for select to cairn_support using (true);
create policy llm_calls_support on llm_calls for select to cairn_support using (true);
create policy outbox_support on outbox for select to cairn_support using (true);
grant select (id, key, state, created_at) on workspaces to cairn_support;
grant select (workspace_id, last_turn_at) on conversations to cairn_support;
grant select (workspace_id, status) on memories to cairn_support;
grant select (workspace_id, status, deleted_at) on skills to cairn_support;
grant select (workspace_id, kind, status, outcome, created_at) on runs to cairn_support;
grant select (workspace_id, model, state, error_class, sent_at, input_tokens, output_tokens, cost_micros) on llm_calls to cairn_support;
grant select (workspace_id, kind, failures, failed_since, created_at) on outbox to cairn_support;

-- +goose StatementBegin
create function cairn.support_workspaces(after_id bigint, only_id bigint, most int, stuck_failures int, stuck_age interval) returns table (ws_id bigint, ws_key text, ws_state text, ws_created_at timestamptz,
  conversations bigint, memories bigint, skills bigint, open_runs bigint, failed_runs bigint, waiting bigint, stuck bigint,
  calls bigint, failed_calls bigint, tokens bigint, micros bigint, unpriced bigint, last_turn_at timestamptz)
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select w.id, w.key, w.state, w.created_at, c.n, m.n, s.n, r.open, r.failed, o.n, o.stuck, l.n, l.failed, l.tokens, l.micros, l.unpriced, c.last
  from (select id, key, state, created_at from workspaces where id > after_id and (only_id = 0 or id = only_id) order by id limit most) w,
    lateral (select count(*) as n, max(x.last_turn_at) as last from conversations x where x.workspace_id = w.id) c,
    lateral (select count(*) as n from memories x where x.workspace_id = w.id and x.status = 'active') m,
    lateral (select count(*) as n from skills x where x.workspace_id = w.id and x.status = 'active' and x.deleted_at is null) s,
    lateral (select count(*) filter (where x.status <> 'ended') as open, count(*) filter (where x.outcome in ('failed', 'over_budget')) as failed
      from runs x where x.workspace_id = w.id and x.created_at > now() - interval '1 day') r,
    lateral (select count(*) as n, count(*) filter (where x.failures >= stuck_failures or x.failed_since <= now() - stuck_age) as stuck
      from outbox x where x.workspace_id = w.id) o,
    lateral (select count(*) as n, count(*) filter (where x.state in ('failed', 'unknown')) as failed, coalesce(sum(x.input_tokens + x.output_tokens), 0)::bigint as tokens,
      coalesce(sum(x.cost_micros), 0)::bigint as micros, count(*) filter (where x.cost_micros is null) as unpriced
      from llm_calls x where x.workspace_id = w.id and x.sent_at > now() - interval '1 day') l
  order by w.id
$$;

create function cairn.support_errors(ws bigint) returns table (what text, kind text, code text, n bigint, latest timestamptz)
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select 'call', x.model, case when x.state = 'unknown' then 'unknown' else x.error_class end, count(*), max(x.sent_at) from llm_calls x
  where x.workspace_id = ws and x.state in ('failed', 'unknown') and x.sent_at > now() - interval '1 day' group by 2, 3
  union all
  select 'run', x.kind, case when x.status = 'ended' then x.outcome else x.status end, count(*), max(x.created_at) from runs x
  where x.workspace_id = ws and x.created_at > now() - interval '1 day' group by 2, 3
  union all
  select 'outbox', x.kind, case when x.failures > 0 then 'failing' else 'waiting' end, count(*), max(x.created_at) from outbox x
  where x.workspace_id = ws group by 2, 3
  order by 1, 2, 3
$$;
-- +goose StatementEnd
revoke all on function cairn.support_workspaces, cairn.support_errors from public;
grant execute on function cairn.support_workspaces, cairn.support_errors to cairn_system;
grant create on schema cairn to cairn_support;
alter function cairn.support_workspaces(bigint, bigint, int, int, interval) owner to cairn_support;
alter function cairn.support_errors(bigint) owner to cairn_support;
revoke create on schema cairn from cairn_support;
