-- +goose Up
-- Erase: deletes all data of a workspace, or of one conversation, and proves it.
--
-- cairn_erase owns the functions below, and no login has this role. Rows of append-only tables are
-- therefore deleted only by these functions: inside one workspace, and only while an erasure of it
-- is open, or after the undo period of a deletion. Callers of the first are of cairn_system and
-- receive only counts.

-- What was erased. No content is kept, only numbers and unused keys.
create table erasures (
  id             bigint generated always as identity primary key,
  workspace      bigint not null,                       -- its ID; the row itself will be deleted
  workspace_key  text not null,
  conversation   bigint,                                -- null for the whole workspace
  derived        text not null default 'keep' check (derived in ('keep', 'quarantine', 'delete')),
  state          text not null default 'accepted' check (state in ('accepted', 'ended')),
  deleted        jsonb not null default '{}',           -- table → rows; updated in the transactions that delete
  remaining      jsonb not null default '{}',           -- table → rows, as of the last count
  affected       jsonb not null default '{}',           -- memories and skills derived from the conversation
  objects        int,                                   -- of the package store, counted before the first was deleted
  objects_left   int,
  workflows      text[] not null default '{}',          -- run IDs, Temporal's own, of the stopped workflows
  workflows_left int,
  requested_at   timestamptz not null default now(),
  ended_at       timestamptz
);
create unique index erasures_open on erasures (workspace, coalesce(conversation, 0)) where state = 'accepted';

-- Which rows of a table belong to a conversation: $1 is the workspace, $2 the conversation, t the
-- table. Every table with rows of workspaces has a rule. A migration that creates such a table adds
-- the rule and calls cairn.cover_erase.
create table erase_rules (
  tbl   text primary key,
  how   text not null check (how in ('none', 'rows', 'derived', 'packages')),
  scope text check ((how = 'none') = (scope is null))
);

insert into erase_rules (tbl, how, scope) values
  ('conversations', 'derived', 't.id = $2'),      -- deleted last
  ('messages', 'rows', 't.conversation_id = $2'),
  ('turns', 'rows', 't.conversation_id = $2'),
  ('runs', 'rows', 't.conversation_id = $2'),
  -- A reflection has no single conversation, but its requests and replies contain text of each
  -- conversation that it read.
  ('agent_steps', 'rows', $$t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'reflection' and spec -> 'pinned' -> 'conversations' @> to_jsonb($2))$$),
  ('agent_calls', 'rows', $$t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'reflection' and spec -> 'pinned' -> 'conversations' @> to_jsonb($2))$$),
  ('skill_views', 'rows', $$t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'reflection' and spec -> 'pinned' -> 'conversations' @> to_jsonb($2))$$),
  ('memory_views', 'rows', $$t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'reflection' and spec -> 'pinned' -> 'conversations' @> to_jsonb($2))$$),
  -- The same holds for the requests of runs without a conversation. They are deleted with any
  -- conversation that they were sent with.
  ('llm_calls', 'rows', $$t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'reflection' and spec -> 'pinned' -> 'conversations' @> to_jsonb($2)) or t.run_id in (select run_id from run_conversations where workspace_id = $1 and conversation_id = $2)$$),
  ('run_conversations', 'rows', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('distill_tasks', 'rows', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('distill_files', 'rows', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('tool_op_log', 'rows', $$split_part(t.op_id, '/', 1) in (select id::text from runs where workspace_id = $1 and conversation_id = $2)$$),
  ('outbox', 'rows', $$t.kind = 'drive' and t.key in (select id::text from runs where workspace_id = $1 and conversation_id = $2)$$),
  ('pending_memories', 'rows', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('pending_writes', 'rows', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('conversation_marks', 'rows', 't.conversation_id = $2'),
  ('memory_histories', 'rows', 't.conversation_id = $2'),
  ('history_chunks', 'rows', 't.history_id in (select id from memory_histories where workspace_id = $1 and conversation_id = $2)'),
  ('memory_refs', 'rows', 't.history_id in (select id from memory_histories where workspace_id = $1 and conversation_id = $2) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('reflection_reads', 'rows', 't.conversation_id = $2'),
  ('note_recalls', 'rows', 't.memory_id in (select id from memories where workspace_id = $1 and conversation_id = $2)'),
  ('decisions', 'rows', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('decision_outcomes', 'rows', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2) or t.decision_id in (select d.id from decisions d where d.workspace_id = $1 and (d.conversation_id = $2 or d.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)))'),
  ('cases', 'rows', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('evolution_rounds', 'rows', '$2 = any(t.conversations) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('training_steps', 'rows', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('probes', 'rows', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  -- numbers of the workspace: its runs have no conversation
  ('policy_updates', 'rows', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('compactions', 'rows', 't.conversation_id = $2'),
  ('offload_uses', 'rows', 't.conversation_id = $2'),
  -- Content that only this conversation has offloaded; its uses may be deleted already.
  ('offload_blobs', 'rows', $$t.expires_at = 'infinity' and not exists (select from offload_uses u where u.workspace_id = $1 and u.sha256 = t.sha256 and u.conversation_id is distinct from $2)$$),
  -- Derived data is kept without its source, quarantined or deleted: cairn.erase_derived.
  ('memories', 'derived', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('memory_revisions', 'derived', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('soul_versions', 'derived', 't.conversation_id = $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('identity_versions', 'derived', 't.history_id in (select id from memory_histories where workspace_id = $1 and conversation_id = $2) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'), -- cairn.erase_identity
  ('skill_versions', 'derived', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = $2)'),
  ('skill_sources', 'derived', 't.conversation_id = $2'),
  ('search_docs', 'derived', 't.conversation_id = $2'),
  ('embeddings', 'derived', 't.doc in (select doc from search_docs where workspace_id = $1 and conversation_id = $2)'),
  ('embed_refusals', 'derived', 't.doc in (select doc from search_docs where workspace_id = $1 and conversation_id = $2)'),
  ('lex_docs', 'derived', 't.doc in (select doc from search_docs where workspace_id = $1 and conversation_id = $2)'),
  ('packages', 'packages', $$t.state = 'condemned' and t.touched_at = 'epoch'$$), -- as cairn.erase_derived marks them
  ('reembed_progress', 'none', null),             -- numbers of the workspace
  ('lex_stats', 'none', null),                    -- counts of the workspace's documents, which stay correct
  ('lex_terms', 'none', null),
  ('skills', 'none', null),                       -- deleted with their versions
  ('skill_files', 'none', null),
  ('skill_uses', 'none', null),
  ('failure_memos', 'none', null),                -- hashes
  ('frozen_sessions', 'none', null),              -- of the workspace; revoked if their content is erased
  ('memory_targets', 'none', null),               -- names of the workspace
  ('memory_leases', 'none', null),
  ('memory_skills', 'none', null),                -- general rules of the workspace
  ('policies', 'none', null),
  ('banks', 'none', null),
  ('bank_versions', 'none', null),
  ('skill_stats', 'none', null),                  -- numbers of the workspace
  ('scheduled_tasks', 'none', null),
  ('reflection_runs', 'none', null),
  ('api_keys', 'none', null);

alter table erasures enable row level security;
alter table erasures force row level security;
create policy erasures_erase on erasures to cairn_erase using (true) with check (true);
create policy erasures_system on erasures for select to cairn_system using (true);
grant select on erasures to cairn_system;
grant select, insert, update on erasures to cairn_erase;

alter table erase_rules enable row level security;
alter table erase_rules force row level security;
create policy erase_rules_all on erase_rules using (true) with check (true);
grant select on erase_rules to cairn_erase;

-- All tables with rows of workspaces. A table precedes those that it refers to.
-- +goose StatementBegin
create function cairn.erase_tables() returns table (tbl text, place int)
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  with recursive tenant as (
    select c.oid, c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id' and not a.attisdropped
    where c.relnamespace = 'cairn'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  ), refers as (
    select distinct f.conrelid as child, f.confrelid as parent from pg_constraint f
    join tenant c on c.oid = f.conrelid join tenant p on p.oid = f.confrelid where f.contype = 'f' and f.conrelid <> f.confrelid
  ), depth as (
    select oid, 0 as d from tenant
    union select r.parent, d + 1 from depth join refers r on r.child = depth.oid where d < 100
  )
  select t.relname::text, (row_number() over (order by max(d), t.relname))::int from depth join tenant t on t.oid = depth.oid group by t.relname
$$;
-- +goose StatementEnd

-- Grants cairn_erase access to the tables that it cannot reach yet.
-- +goose StatementBegin
create function cairn.cover_erase() returns void
language plpgsql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
declare t text;
begin
  for t in select tbl from cairn.erase_tables() where not exists (select from pg_policies p where p.schemaname = 'cairn' and p.tablename = tbl and p.policyname = tbl || '_erase') loop
    execute format($p$create policy %I on %I to cairn_erase using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_erase', t);
    execute format('grant select, delete on %I to cairn_erase', t);
  end loop;
end $$;
-- +goose StatementEnd
select cairn.cover_erase();
create policy workspaces_erase on workspaces to cairn_erase using (id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, delete, update (state, identity_version) on workspaces to cairn_erase;
grant update (external_id, title) on conversations to cairn_erase;
grant update (run_id, conversation_id, from_seq, to_seq) on memories, memory_revisions, soul_versions to cairn_erase;
grant update (run_id, history_id) on identity_versions to cairn_erase;
grant update (status) on memories, skills, search_docs to cairn_erase;
grant update (run_id, task_key) on skill_versions to cairn_erase;
grant update (draft, package) on distill_tasks to cairn_erase;
grant update (revoked_at, rendered, tools) on frozen_sessions to cairn_erase;
grant update (state, touched_at) on packages to cairn_erase;
grant update (df, speakers) on lex_terms to cairn_erase;
grant update (docs) on lex_stats to cairn_erase;

-- The data derived from a conversation. It is sole if it has no other source: neither messages of
-- another conversation nor a person who wrote or uploaded it. The sources of a memory are those of
-- its latest revision.
-- +goose StatementBegin
create function cairn.derived_of(ws bigint, conv bigint) returns table (kind text, id bigint, ref text, sole boolean)
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  with r as (
    select runs.id from runs where workspace_id = ws and conversation_id = conv
  ), from_it as (
    select skill_id from skill_sources where workspace_id = ws and conversation_id = conv
    union select skill_id from skill_versions where workspace_id = ws and run_id in (select r.id from r)
  )
  select 'skill', s.id, s.name, s.origin not in ('user', 'import')
    and not exists (select from skill_sources o where o.workspace_id = ws and o.skill_id = s.id and o.conversation_id <> conv)
  from from_it f join skills s on s.workspace_id = ws and s.id = f.skill_id
  union all
  select 'memory', m.id, m.external_id, coalesce((select coalesce(v.conversation_id = conv, false) or coalesce(v.run_id in (select r.id from r), false) from memory_revisions v
      where v.workspace_id = ws and v.memory_id = m.id and v.version = m.version), m.conversation_id = conv, true)
  from memories m where m.workspace_id = ws and (m.conversation_id = conv or m.run_id in (select r.id from r)
    or exists (select from memory_revisions v where v.workspace_id = ws and v.memory_id = m.id and (v.conversation_id = conv or v.run_id in (select r.id from r))))
$$;
-- +goose StatementEnd

-- Opens an erasure, or finds the open one. From here on the workspace cannot be entered. A
-- conversation loses its name, so that a new one can use it.
-- +goose StatementBegin
create function cairn.erase_accept(ws bigint, conv bigint, derive text) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare w workspaces; e bigint;
begin
  perform set_config('cairn.workspace', ws::text, true);
  select * into w from workspaces where id = ws for no key update;
  if w.id is null then
    raise exception 'workspace % not found', ws using errcode = 'CA002';
  end if;
  select id into e from erasures where workspace = ws and conversation is not distinct from conv and state = 'accepted';
  if e is not null then return e; end if;
  if w.state <> 'active' then
    raise exception 'workspace % is being erased', ws using errcode = 'CA001';
  end if;
  if conv is null then
    update workspaces set state = 'erasing' where id = ws;
  else
    update conversations set external_id = 'erased/' || gen_random_uuid(), title = '' where workspace_id = ws and id = conv;
    if not found then
      raise exception 'conversation % not found', conv using errcode = 'CA003';
    end if;
  end if;
  insert into erasures (workspace, workspace_key, conversation, derived) values (ws, w.key, conv, derive) returning id into e;
  return e;
end $$;
-- +goose StatementEnd

-- Enters the workspace of an open erasure exclusively: transactions in progress have ended, later
-- ones wait. If it returns no row, the erasure has ended.
-- +goose StatementBegin
create function cairn.erase_enter(erasure bigint) returns setof erasures
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare e erasures;
begin
  select * into e from erasures where id = erasure;
  if e.id is null then
    raise exception 'erasure % not found', erasure using errcode = 'CA003';
  end if;
  perform set_config('cairn.workspace', e.workspace::text, true);
  perform pg_advisory_xact_lock(1, hashint8(e.workspace));
  select * into e from erasures where id = erasure for update;
  if e.state <> 'accepted' then return; end if;
  if e.conversation is null and exists (select from workspaces where id = e.workspace and state = 'active') then
    raise exception 'workspace % is not being erased', e.workspace;
  end if;
  return next e;
end $$;
-- +goose StatementEnd

-- Adds to the counts of an erasure, in the transaction that deletes.
-- +goose StatementBegin
create function cairn.erase_count(erasure bigint, tbl text, n bigint) returns void
language sql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  update erasures set deleted = deleted || jsonb_build_object(tbl, coalesce((deleted ->> tbl)::bigint, 0) + n) where id = erasure and n > 0
$$;
-- +goose StatementEnd

-- Deletes up to most rows of a table, all if it is null, and returns their number. Packages are
-- deleted with their objects, and conversations together with their derived data.
-- +goose StatementBegin
create function cairn.erase_rows(erasure bigint, tbl text, most int) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare e erasures; rule erase_rules; n bigint;
begin
  select * into e from cairn.erase_enter(erasure);
  if e.id is null or tbl = 'packages' then return 0; end if;
  if e.conversation is null then
    rule.scope := 'true';
  else
    select * into rule from erase_rules r where r.tbl = erase_rows.tbl;
    if rule.how is distinct from 'rows' then return 0; end if;
  end if;
  execute format('delete from %1$I t where t.ctid = any(array(select t.ctid from %1$I t where t.workspace_id = $1 and (%2$s) limit $3)) and t.workspace_id = $1 and (%2$s)', tbl, rule.scope)
    using e.workspace, e.conversation, most;
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, tbl, n);
  return n;
end $$;
-- +goose StatementEnd

-- Removes documents from search, and updates the counts used for ranking.
-- +goose StatementBegin
create function cairn.erase_docs(erasure bigint, ws bigint, gone bigint[]) returns void
language plpgsql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
declare n bigint;
begin
  update lex_terms t set df = t.df - g.df, speakers = t.speakers - g.speakers from (
    select w.term, sum(w.df)::int as df, sum(w.speakers)::int as speakers from (
      select (k & 4294967295)::int as term, 1 as df, 0 as speakers from lex_docs l, unnest(l.keys) k where l.workspace_id = ws and l.doc = any(gone)
      union all
      select term, 0, 1 from search_docs d, unnest(d.target_terms) term where d.workspace_id = ws and d.doc = any(gone) and d.kind = 'turn') w
    group by w.term) g
  where t.workspace_id = ws and t.term = g.term;
  delete from lex_docs where workspace_id = ws and doc = any(gone);
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'lex_docs', n);
  delete from lex_terms where workspace_id = ws and df <= 0 and speakers <= 0;
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'lex_terms', n);
  delete from embeddings where workspace_id = ws and doc = any(gone);
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'embeddings', n);
  delete from embed_refusals where workspace_id = ws and doc = any(gone);
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'embed_refusals', n);
  delete from outbox where workspace_id = ws and kind = 'embed' and key in (select unnest(gone)::text);
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'outbox', n);
  delete from search_docs where workspace_id = ws and doc = any(gone);
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'search_docs', n);
  update lex_stats set docs = docs - n where workspace_id = ws;
end $$;
-- +goose StatementEnd

-- Applies the chosen treatment to the data derived from a conversation. Data that is kept loses its
-- source.
-- +goose StatementBegin
create function cairn.erase_derived(erasure bigint) returns void
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare
  e erasures; ws bigint; conv bigint; n bigint;
  its_runs bigint[]; skill_ids bigint[]; memory_ids bigint[]; docs bigint[]; zips bytea[];
begin
  select * into e from cairn.erase_enter(erasure);
  if e.id is null or e.conversation is null then return; end if;
  ws := e.workspace; conv := e.conversation;
  its_runs := array(select id from runs where workspace_id = ws and conversation_id = conv);
  skill_ids := array(select id from cairn.derived_of(ws, conv) where kind = 'skill' and sole);
  memory_ids := array(select id from cairn.derived_of(ws, conv) where kind = 'memory' and sole);
  update erasures set affected = jsonb_build_object(
    'skills', coalesce((affected ->> 'skills')::bigint, 0) + cardinality(skill_ids),
    'memories', coalesce((affected ->> 'memories')::bigint, 0) + cardinality(memory_ids)) where id = erasure;
  -- The zips of uncommitted packages and of proposals are deleted with them.
  zips := array(select decode(package -> 'version' ->> 'PackageSHA', 'hex') from distill_tasks where workspace_id = ws and run_id = any(its_runs) and package is not null
    union select decode(version ->> 'PackageSHA', 'hex') from pending_writes where workspace_id = ws and jsonb_typeof(version) = 'object' and (run_id = any(its_runs) or e.derived = 'delete' and skill_id = any(skill_ids)));
  docs := array(select doc from search_docs where workspace_id = ws and conversation_id = conv);

  if e.derived = 'quarantine' then
    update skills set status = 'quarantined' where workspace_id = ws and id = any(skill_ids);
    update memories set status = 'quarantined' where workspace_id = ws and id = any(memory_ids) and status = 'active';
    update search_docs set status = 'quarantined' where workspace_id = ws and (kind = 'skill' and owner_id = any(skill_ids) or kind = 'memory' and owner_id = any(memory_ids));
  elsif e.derived = 'delete' then
    docs := docs || array(select doc from search_docs where workspace_id = ws and (kind = 'skill' and owner_id = any(skill_ids) or kind = 'memory' and owner_id = any(memory_ids)));
    delete from memory_revisions where workspace_id = ws and (memory_id = any(memory_ids) or conversation_id = conv or run_id = any(its_runs));
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'memory_revisions', n);
    delete from memories where workspace_id = ws and id = any(memory_ids);
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'memories', n);
    delete from pending_writes where workspace_id = ws and skill_id = any(skill_ids);
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'pending_writes', n);
    delete from skill_uses where workspace_id = ws and skill_id = any(skill_ids);
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'skill_uses', n);
    delete from skill_views where workspace_id = ws and skill_id = any(skill_ids);
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'skill_views', n);
    delete from skill_sources where workspace_id = ws and skill_id = any(skill_ids);
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'skill_sources', n);
    delete from skill_files where workspace_id = ws and skill_id = any(skill_ids);
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'skill_files', n);
    zips := zips || array(select package_sha256 from skill_versions where workspace_id = ws and skill_id = any(skill_ids));
    delete from skill_versions where workspace_id = ws and skill_id = any(skill_ids);
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'skill_versions', n);
    delete from skills where workspace_id = ws and id = any(skill_ids);
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'skills', n);
  end if;
  perform cairn.erase_docs(erasure, ws, docs);

  -- Sessions contain memories and skills. A run in progress keeps its session.
  if e.derived <> 'keep' and cardinality(skill_ids) + cardinality(memory_ids) > 0 then
    update frozen_sessions s set revoked_at = coalesce(s.revoked_at, now()) where s.workspace_id = ws;
    update frozen_sessions s set rendered = '', tools = '[]' where s.workspace_id = ws and e.derived = 'delete'
      and not exists (select from runs r where r.workspace_id = ws and r.session_id = s.id and r.status <> 'ended');
  end if;

  update memories set conversation_id = null, from_seq = null, to_seq = null where workspace_id = ws and conversation_id = conv;
  update memories set run_id = null where workspace_id = ws and run_id = any(its_runs);
  update memory_revisions set conversation_id = null, from_seq = null, to_seq = null where workspace_id = ws and conversation_id = conv;
  update memory_revisions set run_id = null where workspace_id = ws and run_id = any(its_runs);
  update soul_versions set conversation_id = null, from_seq = null, to_seq = null where workspace_id = ws and conversation_id = conv;
  update soul_versions set run_id = null where workspace_id = ws and run_id = any(its_runs);
  delete from skill_sources where workspace_id = ws and conversation_id = conv;
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'skill_sources', n);
  update skill_versions set run_id = null, task_key = null where workspace_id = ws and run_id = any(its_runs);

  -- They are unused: their objects are deleted with the rows, or by the collector if the erasure
  -- ends here.
  update packages p set state = 'condemned', touched_at = 'epoch' where p.workspace_id = ws and p.sha256 = any(zips)
    and not exists (select from skill_versions v where v.workspace_id = ws and v.package_sha256 = p.sha256)
    and not exists (select from pending_writes w where w.workspace_id = ws and w.state = 'pending' and not coalesce(w.run_id = any(its_runs), false)
      and jsonb_typeof(w.version) = 'object' and decode(w.version ->> 'PackageSHA', 'hex') = p.sha256);
end $$;
-- +goose StatementEnd

-- Identity versions derived from a conversation are treated like memories: kept without their
-- source, deactivated or deleted. The version that was active before becomes active again.
-- +goose StatementBegin
create function cairn.erase_identity(erasure bigint) returns void
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare e erasures; head int; before int; mine int[]; n bigint;
begin
  select * into e from cairn.erase_enter(erasure);
  if e.id is null or e.conversation is null then return; end if;
  mine := array(select version from identity_versions t where t.workspace_id = e.workspace
    and (t.history_id in (select id from memory_histories where workspace_id = e.workspace and conversation_id = e.conversation)
      or t.run_id in (select id from runs where workspace_id = e.workspace and conversation_id = e.conversation)));
  select identity_version into head from workspaces where id = e.workspace;
  if e.derived <> 'keep' and head = any(mine) then
    select coalesce(max(version), 0) into before from identity_versions where workspace_id = e.workspace and version < head and version <> all(mine);
    update workspaces set identity_version = before where id = e.workspace;
    update frozen_sessions set revoked_at = coalesce(revoked_at, now()) where workspace_id = e.workspace;
  end if;
  if e.derived = 'delete' then
    delete from identity_versions where workspace_id = e.workspace and version = any(mine);
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'identity_versions', n);
  else
    update identity_versions set run_id = null, history_id = null where workspace_id = e.workspace and version = any(mine);
  end if;
end $$;
-- +goose StatementEnd

-- Deletes the rest of a conversation in one transaction. Afterwards nothing can refer to it.
-- +goose StatementBegin
create function cairn.erase_conversation(erasure bigint) returns void
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare e erasures; t text; n bigint;
begin
  select * into e from cairn.erase_enter(erasure);
  if e.id is null or e.conversation is null then return; end if;
  perform cairn.erase_derived(erasure);
  perform cairn.erase_identity(erasure);
  for t in select tbl from cairn.erase_tables() order by place loop
    perform cairn.erase_rows(erasure, t, null);
  end loop;
  delete from conversations where workspace_id = e.workspace and id = e.conversation;
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'conversations', n);
end $$;
-- +goose StatementEnd

-- The keys of the packages to delete, in pages.
-- +goose StatementBegin
create function cairn.erase_packages(erasure bigint, after bytea, most int) returns table (sha256 bytea, key text)
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare e erasures;
begin
  select * into e from cairn.erase_enter(erasure);
  if e.id is null then return; end if;
  return query select p.sha256, p.key from packages p where p.workspace_id = e.workspace and p.sha256 > after
    and (e.conversation is null or p.state = 'condemned' and p.touched_at = 'epoch') order by p.sha256 limit most;
end $$;
-- +goose StatementEnd

-- Deletes the rows of packages whose objects were deleted in the same transaction.
-- +goose StatementBegin
create function cairn.erase_package_rows(erasure bigint, gone bytea[]) returns void
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare e erasures; n bigint;
begin
  select * into e from cairn.erase_enter(erasure);
  delete from packages p where p.workspace_id = e.workspace and p.sha256 = any(gone);
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'packages', n);
end $$;
-- +goose StatementEnd

-- Stores counts of data outside of the database. Objects are counted once, before the first is
-- deleted; the stopped workflows are a set.
-- +goose StatementBegin
create function cairn.erase_note(erasure bigint, found int, objects_now int, stopped text[], open_now int) returns void
language sql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
  update erasures set objects = coalesce(objects, found), objects_left = coalesce(objects_now, objects_left), workflows_left = coalesce(open_now, workflows_left),
    workflows = array(select unnest(workflows) union select unnest(stopped) order by 1)
  where id = erasure and state = 'accepted'
$$;
-- +goose StatementEnd

-- The number of rows of a workspace or conversation, by table.
-- +goose StatementBegin
create function cairn.erase_rows_of(ws bigint, conv bigint) returns table (tbl text, n bigint)
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare t record;
begin
  perform set_config('cairn.workspace', ws::text, true);
  for t in select o.tbl, case when conv is null then 'true' else r.scope end as scope from cairn.erase_tables() o left join erase_rules r on r.tbl = o.tbl order by o.tbl loop
    continue when t.scope is null;
    tbl := t.tbl;
    execute format('select count(*) from %I t where t.workspace_id = $1 and (%s)', t.tbl, t.scope) into n using ws, conv;
    return next;
  end loop;
end $$;
-- +goose StatementEnd

-- Counts the remaining data, and ends the erasure if nothing remains: no row, no object, no open
-- workflow. The workspace's own row is deleted in the last step.
-- +goose StatementBegin
create function cairn.erase_end(erasure bigint) returns boolean
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare e erasures; n bigint; total bigint;
begin
  select * into e from cairn.erase_enter(erasure);
  if e.id is null then return true; end if;
  update erasures u set remaining = c.counts from (select jsonb_object_agg(o.tbl, o.n) as counts, sum(o.n) as total from cairn.erase_rows_of(e.workspace, e.conversation) o) c
  where u.id = erasure returning c.total into total;
  if total > 0 or e.objects_left is distinct from 0 or e.workflows_left is distinct from 0 then return false; end if;
  if e.conversation is null then
    delete from workspaces where id = e.workspace;
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'workspaces', n);
  end if;
  update erasures set state = 'ended', ended_at = now() where id = erasure;
  return true;
end $$;
-- +goose StatementEnd

-- cairn_erase owns the functions that it executes for others; callers of cairn_system start it.
grant create on schema cairn to cairn_erase;
-- +goose StatementBegin
do $$
declare f regprocedure;
begin
  for f in select p.oid::regprocedure from pg_proc p where p.pronamespace = 'cairn'::regnamespace and p.proname like 'erase\_%' loop
    execute format('revoke all on function %s from public', f);
    execute format('grant execute on function %s to cairn_erase', f);
  end loop;
  execute 'revoke all on function cairn.cover_erase() from public';
  execute 'grant execute on function cairn.erase_tables() to cairn_system';
  for f in select p.oid::regprocedure from pg_proc p where p.pronamespace = 'cairn'::regnamespace and p.prosecdef and p.proname like 'erase\_%' loop
    execute format('grant execute on function %s to cairn_system', f);
    execute format('alter function %s owner to cairn_erase', f);
  end loop;
end $$;
-- +goose StatementEnd

-- A deletion can be undone for some days. After that the deleted skills and memories are erased:
-- versions, files and package, index entries, and the prompts that were frozen with them. Messages
-- stay; only an erasure deletes them.
set local role cairn_erase; -- it owns the functions

-- Permanently deletes what was deleted before the entered workspace's undo_days, up to most skills
-- and most memories, and returns their number.
-- +goose StatementBegin
create function cairn.erase_deleted(most int) returns int
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare
  ws bigint := nullif(current_setting('cairn.workspace', true), '')::bigint;
  since timestamptz := now() - make_interval(days => (select w.undo_days from workspaces w where w.id = ws));
  skill_ids bigint[]; memory_ids bigint[]; names text[]; docs bigint[]; zips bytea[];
begin
  skill_ids := array(select id from skills where workspace_id = ws and deleted_at <= since order by id limit most for update skip locked);
  memory_ids := array(select id from memories where workspace_id = ws and status = 'removed' and updated_at <= since order by id limit most for update skip locked);
  if cardinality(skill_ids) + cardinality(memory_ids) = 0 then return 0; end if;
  docs := array(select doc from search_docs where workspace_id = ws and (kind = 'skill' and owner_id = any(skill_ids) or kind = 'memory' and owner_id = any(memory_ids)));
  perform from lex_terms t where t.workspace_id = ws and t.term in (select (k & 4294967295)::int from lex_docs l, unnest(l.keys) k where l.workspace_id = ws and l.doc = any(docs)
    union select unnest(d.target_terms) from search_docs d where d.workspace_id = ws and d.doc = any(docs) and d.kind = 'turn') order by t.term for update;
  perform cairn.erase_docs(null, ws, docs);

  -- Prompts contain skills and prompt memories. A run in progress keeps its session.
  if cardinality(skill_ids) > 0 or exists (select from memories where workspace_id = ws and id = any(memory_ids) and type in ('core', 'profile')) then
    update frozen_sessions s set revoked_at = coalesce(s.revoked_at, now()) where s.workspace_id = ws;
    update frozen_sessions s set rendered = '', tools = '[]' where s.workspace_id = ws
      and not exists (select from runs r where r.workspace_id = ws and r.session_id = s.id and r.status <> 'ended');
  end if;

  -- Entries that were merged into a memory are deleted with it.
  with recursive gone as (
    select m.id, m.external_id from memories m where m.workspace_id = ws and m.id = any(memory_ids)
    union select m.id, m.external_id from memories m join gone g on m.superseded_by = g.external_id where m.workspace_id = ws and m.status = 'superseded'
  ) select array_agg(id), array_agg(external_id) into memory_ids, names from gone;
  delete from pending_memories where workspace_id = ws and base ?| names;
  delete from note_recalls where workspace_id = ws and memory_id = any(memory_ids);
  delete from memory_views where workspace_id = ws and memory_id = any(memory_ids);
  delete from memory_refs where workspace_id = ws and memory_id = any(memory_ids);
  delete from memory_revisions where workspace_id = ws and memory_id = any(memory_ids);
  delete from memories where workspace_id = ws and id = any(memory_ids);

  zips := array(select package_sha256 from skill_versions where workspace_id = ws and skill_id = any(skill_ids)
    union select decode(version ->> 'PackageSHA', 'hex') from pending_writes where workspace_id = ws and jsonb_typeof(version) = 'object' and skill_id = any(skill_ids));
  delete from distill_files f using distill_tasks t where t.workspace_id = ws and t.skill_id = any(skill_ids) and t.stage = 'ended'
    and f.workspace_id = ws and f.run_id = t.run_id and f.task_key = t.task_key;
  update distill_tasks set draft = null, package = null where workspace_id = ws and skill_id = any(skill_ids) and stage = 'ended';
  delete from pending_writes where workspace_id = ws and skill_id = any(skill_ids);
  delete from skill_uses where workspace_id = ws and skill_id = any(skill_ids);
  delete from skill_views where workspace_id = ws and skill_id = any(skill_ids);
  delete from skill_sources where workspace_id = ws and skill_id = any(skill_ids);
  delete from skill_files where workspace_id = ws and skill_id = any(skill_ids);
  delete from skill_versions where workspace_id = ws and skill_id = any(skill_ids);
  delete from skills where workspace_id = ws and id = any(skill_ids);
  -- The collector deletes their objects in its next pass.
  update packages p set state = 'condemned', touched_at = 'epoch' where p.workspace_id = ws and p.sha256 = any(zips)
    and not exists (select from skill_versions v where v.workspace_id = ws and v.package_sha256 = p.sha256)
    and not exists (select from pending_writes w where w.workspace_id = ws and w.state = 'pending' and jsonb_typeof(w.version) = 'object' and decode(w.version ->> 'PackageSHA', 'hex') = p.sha256);
  return cardinality(skill_ids) + coalesce(cardinality(memory_ids), 0);
end $$;
-- +goose StatementEnd

-- If undo_days is 0, a deletion is permanent when its transaction commits.
-- +goose StatementBegin
create function cairn.erase_deleted_at_once() returns trigger
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
begin
  if exists (select from workspaces where id = new.workspace_id and undo_days = 0) then
    while cairn.erase_deleted(1000) > 0 loop end loop;
  end if;
  return null;
end $$;
-- +goose StatementEnd
revoke all on function cairn.erase_deleted, cairn.erase_deleted_at_once from public;
grant execute on function cairn.erase_deleted to cairn_app;
grant execute on function cairn.erase_deleted_at_once to cairn_owner;
set local role cairn_owner;
revoke create on schema cairn from cairn_erase;

create constraint trigger skills_deleted after update of deleted_at on skills deferrable initially deferred for each row
  when (new.deleted_at is not null and old.deleted_at is null) execute function cairn.erase_deleted_at_once();
create constraint trigger memories_removed after update of status on memories deferrable initially deferred for each row
  when (new.status = 'removed' and old.status <> 'removed') execute function cairn.erase_deleted_at_once();
