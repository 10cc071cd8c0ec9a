-- +goose Up
-- Erase: deletes all data of a workspace, of one conversation or of one subject, and proves it.
--
-- cairn_erase owns the functions below, and no login has this role. Rows of append-only tables are
-- therefore deleted only by these functions: inside one workspace, and only while an erasure of it
-- is open, or after the undo period of a deletion. Callers of the first are of cairn_system and
-- receive counts, and the IDs of what an erasure of a subject leaves for review.

-- What was erased. No content is kept, only numbers and unused keys.
create table erasures (
  id             bigint generated always as identity primary key,
  -- distinguishes it from the erasures of other incarnations; the object store keeps it
  token          uuid not null unique default gen_random_uuid(),
  workspace      bigint not null,                       -- its ID; the row itself will be deleted
  workspace_key  text not null,
  conversation   bigint,                                -- null for the whole workspace, and for a subject
  conversation_at timestamptz,                          -- when it was created
  routes         bigint[] not null default '{}',        -- places of chat platforms whose conversation it was
  subject        bytea[],                               -- of a subject: SHA-256 of the workspace's key in incarnation 1, a slash and each of its keys
  marks          text[],                                -- of a subject: how requests name it; null after the end
  derived        text not null default 'keep' check (derived in ('keep', 'quarantine', 'delete')),
  state          text not null default 'accepted' check (state in ('accepted', 'ended')),
  deleted        jsonb not null default '{}',           -- table → rows; updated in the transactions that delete
  remaining      jsonb not null default '{}',           -- table → rows, as of the last count
  affected       jsonb not null default '{}',           -- memories and skills derived from the conversation
  objects        int,                                   -- of the package store, counted before the first was deleted
  objects_left   int,
  workflows      text[] not null default '{}',          -- run IDs, Temporal's own, of the stopped workflows
  workflows_left int,
  requested_at   timestamptz not null default clock_timestamp(), -- under the lock: no later run is part of it
  ended_at       timestamptz
);
create unique index erasures_open on erasures (workspace, coalesce(conversation, 0), coalesce(subject[1], '')) where state = 'accepted';

-- What an erasure of a subject removes, determined when it is accepted: a memory written later
-- belongs to the next erasure. Only IDs are stored, never text. A conversation is erased completely.
-- A message in a shared conversation loses its text. Items for review are not erased; they are kept
-- after the end.
create table erase_items (
  erasure bigint not null references erasures,
  kind    text not null check (kind in ('conversation', 'shared', 'message', 'chunk', 'memory', 'skill', 'turns', 'soul', 'identity')),
  id      bigint not null,
  seq     int not null default 0,                       -- of a message
  review  boolean not null default false,
  primary key (erasure, kind, id, seq)
);

-- The runs of a subject's erasure: they lose their requests, replies and results.
create table erase_item_runs (
  erasure bigint not null references erasures,
  run     text collate "C" not null,
  primary key (erasure, run)
);

-- The runs that were deleted with their conversations. Any other run that an activity does not find
-- was lost in a restore.
create table erased_runs (
  workspace_id bigint not null references workspaces,
  id           text collate "C" not null,
  primary key (workspace_id, id)
);

-- Which rows of a table belong to a conversation: $1 is the workspace, $2 the conversations, t the
-- table. Every table with rows of workspaces has a rule. A migration that creates such a table adds
-- the rule and calls cairn.cover_erase. An erasure of a subject ($3) also removes the rows of
-- subject, which are copies of its text and what refers to them, and replaces the text of the rows
-- of blank.
create table erase_rules (
  tbl     text primary key,
  how     text not null check (how in ('none', 'rows', 'derived', 'packages')),
  scope   text check ((how = 'none') = (scope is null)),
  subject text,
  blank   text
);

insert into erase_rules (tbl, how, scope) values
  ('conversations', 'derived', 't.id = any($2)'),      -- deleted last
  ('messages', 'rows', 't.conversation_id = any($2)'),
  ('conversation_outcomes', 'rows', 't.conversation_id = any($2)'),
  ('turns', 'rows', 't.conversation_id = any($2)'),
  ('turn_requests', 'rows', 't.conversation_id = any($2)'),
  -- A completion names no conversation, but its messages may be those of any one.
  ('runs', 'rows', $$t.conversation_id = any($2) or t.kind = 'completion'$$),
  -- A reflection has no single conversation, but its requests and replies contain text of each
  -- conversation that it read.
  ('agent_steps', 'rows', $$t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2)) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'reflection' and exists (select from jsonb_array_elements_text(spec -> 'pinned' -> 'conversations') c where c::bigint = any($2))) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'completion')$$),
  ('reply_chunks', 'rows', $$t.run_id in (select id from runs where workspace_id = $1 and (conversation_id = any($2) or kind = 'completion'))$$),
  ('agent_calls', 'rows', $$t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2)) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'reflection' and exists (select from jsonb_array_elements_text(spec -> 'pinned' -> 'conversations') c where c::bigint = any($2))) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'completion')$$),
  ('skill_views', 'rows', $$t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2)) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'reflection' and exists (select from jsonb_array_elements_text(spec -> 'pinned' -> 'conversations') c where c::bigint = any($2)))$$),
  ('memory_views', 'rows', $$t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2)) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'reflection' and exists (select from jsonb_array_elements_text(spec -> 'pinned' -> 'conversations') c where c::bigint = any($2)))$$),
  -- The same holds for the requests of runs without a conversation. They are deleted with any
  -- conversation that they were sent with.
  ('llm_calls', 'rows', $$t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2)) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'reflection' and exists (select from jsonb_array_elements_text(spec -> 'pinned' -> 'conversations') c where c::bigint = any($2))) or t.run_id in (select run_id from run_conversations where workspace_id = $1 and conversation_id = any($2)) or t.run_id in (select id from runs where workspace_id = $1 and kind = 'completion')$$),
  ('request_parts', 'rows', 't.conversation_id = any($2)'),
  ('run_conversations', 'rows', 't.conversation_id = any($2) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('distill_tasks', 'rows', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('distill_files', 'rows', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('tool_op_log', 'rows', $$split_part(t.op_id, '/', 1) in (select id from runs where workspace_id = $1 and conversation_id = any($2))$$),
  ('outbox', 'rows', $$t.kind = 'drive' and t.key in (select id from runs where workspace_id = $1 and (conversation_id = any($2) or kind = 'completion'))$$),
  ('pending_memories', 'rows', 't.conversation_id = any($2) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('pending_writes', 'rows', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('conversation_marks', 'rows', 't.conversation_id = any($2)'),
  ('memory_histories', 'rows', 't.conversation_id = any($2)'),
  ('history_chunks', 'rows', 't.history_id in (select id from memory_histories where workspace_id = $1 and conversation_id = any($2))'),
  ('memory_refs', 'rows', 't.history_id in (select id from memory_histories where workspace_id = $1 and conversation_id = any($2)) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('reflection_reads', 'rows', 't.conversation_id = any($2)'),
  ('note_recalls', 'rows', 't.memory_id in (select id from memories where workspace_id = $1 and conversation_id = any($2))'),
  ('decisions', 'rows', 't.conversation_id = any($2) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('decision_outcomes', 'rows', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2)) or t.decision_id in (select d.id from decisions d where d.workspace_id = $1 and (d.conversation_id = any($2) or d.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))))'),
  ('cases', 'rows', 't.conversation_id = any($2) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('votes', 'rows', 't.conversation_id = any($2) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2)) or t.case_id in (select c.id from cases c where c.workspace_id = $1 and (c.conversation_id = any($2) or c.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))))'),
  ('evolution_rounds', 'rows', 't.conversations && $2 or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('training_steps', 'rows', 't.conversation_id = any($2) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('probes', 'rows', 't.conversation_id = any($2) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  -- numbers of the workspace: its runs have no conversation
  ('policy_updates', 'rows', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('compactions', 'rows', 't.conversation_id = any($2)'),
  ('offload_uses', 'rows', 't.conversation_id = any($2)'),
  -- Content that only this conversation has offloaded; its uses may be deleted already.
  ('offload_blobs', 'rows', $$t.expires_at = 'infinity' and not exists (select from offload_uses u where u.workspace_id = $1 and u.sha256 = t.sha256 and not coalesce(u.conversation_id = any($2), false))$$),
  -- Derived data is kept without its source, quarantined or deleted: cairn.erase_derived.
  ('memories', 'derived', 't.conversation_id = any($2) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('memory_revisions', 'derived', 't.conversation_id = any($2) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('soul_versions', 'derived', 't.conversation_id = any($2) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('identity_versions', 'derived', 't.history_id in (select id from memory_histories where workspace_id = $1 and conversation_id = any($2)) or t.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'), -- cairn.erase_identity
  ('skill_versions', 'derived', 't.run_id in (select id from runs where workspace_id = $1 and conversation_id = any($2))'),
  ('skill_sources', 'derived', 't.conversation_id = any($2)'),
  ('search_docs', 'derived', 't.doc in (select cairn.erase_conversation_docs($1, $2))'),
  ('embeddings', 'derived', 't.doc in (select cairn.erase_conversation_docs($1, $2))'),
  ('embed_refusals', 'derived', 't.doc in (select cairn.erase_conversation_docs($1, $2))'),
  ('lex_docs', 'derived', 't.doc in (select cairn.erase_conversation_docs($1, $2))'),
  ('packages', 'packages', $$t.state = 'condemned' and t.touched_at = 'epoch'$$), -- as cairn.erase_derived marks them
  ('reembed_progress', 'none', null),             -- numbers of the workspace
  ('lex_stats', 'none', null),                    -- counts of the workspace's documents, which stay correct
  ('lex_terms', 'none', null),
  ('skills', 'none', null),                       -- deleted with their versions
  ('skill_files', 'none', null),
  ('skill_uses', 'none', null),
  ('failure_memos', 'none', null),                -- hashes
  ('erased_runs', 'none', null),                  -- random IDs without content
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

-- The copies of a subject's text, and what refers to its memories. The texts of a shared
-- conversation that a conversation's erasure deletes are deleted with it, too.
update erase_rules r set subject = v.scope from (values
  ('turn_requests', $$(t.conversation_id, t.number) in (select n.conversation_id, n.number from turns n where n.workspace_id = t.workspace_id and n.run_id in (select cairn.erase_runs($3)))$$),
  ('agent_steps', $$t.run_id in (select cairn.erase_runs($3))$$),
  ('reply_chunks', $$t.run_id in (select cairn.erase_runs($3))$$),
  ('agent_calls', $$t.run_id in (select cairn.erase_runs($3))$$),
  ('skill_views', $$t.run_id in (select cairn.erase_runs($3)) or t.skill_id in (select id from erase_items where erasure = $3 and kind = 'skill' and not review)$$),
  ('memory_views', $$t.run_id in (select cairn.erase_runs($3)) or t.memory_id in (select id from erase_items where erasure = $3 and kind = 'memory' and not review)$$),
  ('llm_calls', $$t.run_id in (select cairn.erase_runs($3))$$),
  -- later requests of the conversation can repeat any message
  ('request_parts', $$t.conversation_id in (select r.conversation_id from runs r where r.workspace_id = $1 and r.id in (select cairn.erase_runs($3)))$$),
  ('distill_tasks', $$t.run_id in (select cairn.erase_runs($3))$$),
  ('distill_files', $$t.run_id in (select cairn.erase_runs($3))$$),
  ('tool_op_log', $$split_part(t.op_id, '/', 1) in (select cairn.erase_runs($3))$$),
  ('pending_memories', $$t.run_id in (select cairn.erase_runs($3)) or (t.conversation_id, true) in (select m.id, m.seq between t.from_seq and t.to_seq from erase_items m where m.erasure = $3 and m.kind = 'message')$$),
  ('pending_writes', $$t.run_id in (select cairn.erase_runs($3)) or t.skill_id in (select id from erase_items where erasure = $3 and kind = 'skill' and not review)$$),
  ('history_chunks', $$t.id in (select id from erase_items where erasure = $3 and kind = 'chunk')$$),
  ('memory_refs', $$t.memory_id in (select id from erase_items where erasure = $3 and kind = 'memory' and not review)$$),
  ('note_recalls', $$t.memory_id in (select id from erase_items where erasure = $3 and kind = 'memory' and not review)$$),
  ('decisions', $$t.run_id in (select cairn.erase_runs($3)) or t.conversation_id in (select cairn.erase_shared($3))$$),
  ('decision_outcomes', $$t.run_id in (select cairn.erase_runs($3)) or t.decision_id in (select d.id from decisions d where d.workspace_id = $1 and (d.run_id in (select cairn.erase_runs($3)) or d.conversation_id in (select cairn.erase_shared($3))))$$),
  ('cases', $$t.run_id in (select cairn.erase_runs($3)) or t.conversation_id in (select cairn.erase_shared($3))$$),
  ('votes', $$t.run_id in (select cairn.erase_runs($3)) or t.conversation_id in (select cairn.erase_shared($3)) or t.case_id in (select c.id from cases c where c.workspace_id = $1 and (c.run_id in (select cairn.erase_runs($3)) or c.conversation_id in (select cairn.erase_shared($3))))$$),
  ('evolution_rounds', $$t.run_id in (select cairn.erase_runs($3)) or t.conversations && array(select cairn.erase_shared($3))$$),
  ('training_steps', $$t.run_id in (select cairn.erase_runs($3)) or t.conversation_id in (select cairn.erase_shared($3))$$),
  ('probes', $$t.run_id in (select cairn.erase_runs($3)) or t.conversation_id in (select cairn.erase_shared($3))$$),
  ('compactions', $$t.run_id in (select cairn.erase_runs($3)) or t.conversation_id in (select cairn.erase_shared($3))$$),
  ('offload_uses', $$t.conversation_id in (select cairn.erase_shared($3))$$),
  ('offload_blobs', $$t.expires_at = 'infinity' and not exists (select from offload_uses u where u.workspace_id = $1 and u.sha256 = t.sha256 and not coalesce(u.conversation_id = any($2 || array(select cairn.erase_shared($3))), false))$$),
  ('memories', $$t.id in (select id from erase_items where erasure = $3 and kind = 'memory' and not review)$$),
  ('memory_revisions', $$t.memory_id in (select id from erase_items where erasure = $3 and kind = 'memory' and not review)$$),
  ('skills', $$t.id in (select id from erase_items where erasure = $3 and kind = 'skill' and not review)$$),
  ('skill_versions', $$t.skill_id in (select id from erase_items where erasure = $3 and kind = 'skill' and not review)$$),
  ('skill_files', $$t.skill_id in (select id from erase_items where erasure = $3 and kind = 'skill' and not review)$$),
  ('skill_sources', $$t.skill_id in (select id from erase_items where erasure = $3 and kind = 'skill' and not review)$$),
  ('skill_uses', $$t.skill_id in (select id from erase_items where erasure = $3 and kind = 'skill' and not review)$$),
  ('search_docs', $$t.doc in (select cairn.erase_subject_docs($3))$$),
  ('embeddings', $$t.doc in (select cairn.erase_subject_docs($3))$$),
  ('embed_refusals', $$t.doc in (select cairn.erase_subject_docs($3))$$),
  ('lex_docs', $$t.doc in (select cairn.erase_subject_docs($3))$$)) v(tbl, scope) where r.tbl = v.tbl;
update erase_rules r set blank = v.scope from (values
  ('messages', $$t.content <> '[erased]' and (t.conversation_id, t.seq) in (select id, seq from erase_items where erasure = $3 and kind = 'message')$$),
  ('runs', $$t.id in (select run from erase_item_runs where erasure = $3) and (t.status <> 'ended' or t.result <> '{}' or t.kind <> 'turn' and t.spec <> '{"pinned": {}}')$$),
  ('turns', $$t.context <> '' and t.run_id in (select run from erase_item_runs where erasure = $3)$$),
  ('frozen_sessions', $$t.rendered <> '' and t.revoked_at is not null and exists (select from erasures where id = $3 and subject is not null)$$)) v(tbl, scope) where r.tbl = v.tbl;

alter table erasures enable row level security;
alter table erasures force row level security;
create policy erasures_erase on erasures to cairn_erase using (true) with check (true);
create policy erasures_system on erasures for select to cairn_system using (true);
grant select (id, token, workspace, workspace_key, conversation, conversation_at, subject, derived, state, deleted, remaining, affected, objects, objects_left, workflows, workflows_left, requested_at, ended_at) on erasures to cairn_system;
grant select, insert, update on erasures to cairn_erase;

alter table erase_items enable row level security;
alter table erase_items force row level security;
create policy erase_items_erase on erase_items to cairn_erase using (true) with check (true);
grant select, insert, delete on erase_items to cairn_erase;

alter table erase_item_runs enable row level security;
alter table erase_item_runs force row level security;
create policy erase_item_runs_erase on erase_item_runs to cairn_erase using (true) with check (true);
grant select, insert, delete on erase_item_runs to cairn_erase;

alter table erased_runs enable row level security;
alter table erased_runs force row level security;
create policy erased_runs_app on erased_runs to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select on erased_runs to cairn_app;
grant insert on erased_runs to cairn_erase;

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
grant select, delete, update (state, identity_version, sessions_epoch) on workspaces to cairn_erase;
grant update (external_id, title, notice) on conversations to cairn_erase;
grant update (content, name, tool_calls, details) on messages to cairn_erase;
grant update (spec, result) on runs to cairn_erase;
grant update (context) on turns to cairn_erase;
grant update (run_id, conversation_id, from_seq, to_seq) on memories, memory_revisions, soul_versions to cairn_erase;
grant update (history_id) on memories to cairn_erase;
grant update (run_id, history_id) on identity_versions to cairn_erase;
grant update (status) on memories, skills, search_docs to cairn_erase;
grant update (run_id, task_key) on skill_versions to cairn_erase;
grant update (draft, package) on distill_tasks to cairn_erase;
grant update (revoked_at, rendered, tools) on frozen_sessions to cairn_erase;
grant update (state, touched_at) on packages to cairn_erase;
grant update (df, speakers) on lex_terms to cairn_erase;
grant update (docs) on lex_stats to cairn_erase;

-- The conversations that an erasure removes completely; null for the whole workspace.
-- +goose StatementBegin
create function cairn.erase_scope(e erasures) returns bigint[]
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select case when e.conversation is not null then array[e.conversation]
    when e.subject is not null then array(select i.id from erase_items i where i.erasure = e.id and i.kind = 'conversation') end
$$;
-- +goose StatementEnd

-- The search documents of conversations: their messages, and the parts of their sessions.
-- +goose StatementBegin
create function cairn.erase_conversation_docs(ws bigint, convs bigint[]) returns setof bigint
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select doc from search_docs where workspace_id = ws and conversation_id = any(convs)
  union select d.doc from memory_histories h join history_chunks c on c.workspace_id = ws and c.history_id = h.id
    join search_docs d on d.workspace_id = ws and d.kind = 'chunk' and d.owner_id = c.id where h.workspace_id = ws and h.conversation_id = any(convs)
$$;
-- +goose StatementEnd

-- The ended runs whose requests, replies and results a subject's erasure removes. Open runs are
-- waited for.
-- +goose StatementBegin
create function cairn.erase_runs(erasure bigint) returns setof text
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select r.id from erase_item_runs i
  join runs r on r.workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint and r.id = i.run
  where i.erasure = erase_runs.erasure and r.status = 'ended'
$$;
-- +goose StatementEnd

-- The conversations that keep their place and lose the subject's messages.
-- +goose StatementBegin
create function cairn.erase_shared(erasure bigint) returns setof bigint
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select distinct i.id from erase_items i where i.erasure = erase_shared.erasure and i.kind = 'message'
$$;
-- +goose StatementEnd

-- The search documents of a subject's items.
-- +goose StatementBegin
create function cairn.erase_subject_docs(erasure bigint) returns setof bigint
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select d.doc from erase_items i join search_docs d on d.workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint
    and d.kind = case i.kind when 'message' then 'turn' else i.kind end and d.owner_id = i.id and d.seq = i.seq
  where i.erasure = erase_subject_docs.erasure and i.kind in ('memory', 'skill', 'message', 'chunk') and not i.review
$$;
-- +goose StatementEnd

-- The data derived from conversations. It is sole if it has no other source: neither messages of
-- another conversation nor a person who wrote or uploaded it. The sources of a memory are those of
-- its latest revision.
-- +goose StatementBegin
create function cairn.derived_of(ws bigint, convs bigint[]) returns table (kind text, id bigint, ref text, sole boolean)
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  with r as (
    select runs.id from runs where workspace_id = ws and conversation_id = any(convs)
  ), from_it as (
    select skill_id from skill_sources where workspace_id = ws and conversation_id = any(convs)
    union select skill_id from skill_versions where workspace_id = ws and run_id in (select r.id from r)
  )
  select 'skill', s.id, s.name, s.origin not in ('user', 'import')
    and not exists (select from skill_sources o where o.workspace_id = ws and o.skill_id = s.id and o.conversation_id <> all(convs))
  from from_it f join skills s on s.workspace_id = ws and s.id = f.skill_id
  union all
  select 'memory', m.id, m.external_id, coalesce((select coalesce(v.conversation_id = any(convs), false) or coalesce(v.run_id in (select r.id from r), false) from memory_revisions v
      where v.workspace_id = ws and v.memory_id = m.id and v.version = m.version), m.conversation_id = any(convs), true)
  from memories m where m.workspace_id = ws and (m.conversation_id = any(convs) or m.run_id in (select r.id from r)
    or exists (select from memory_revisions v where v.workspace_id = ws and v.memory_id = m.id and (v.conversation_id = any(convs) or v.run_id in (select r.id from r))))
$$;
-- +goose StatementEnd

-- The places of chat platforms whose conversation is one of these.
-- +goose StatementBegin
create function cairn.erase_places(ws bigint, convs bigint[]) returns bigint[]
language plpgsql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
begin
  return array(select r.id from channel_routes r join conversations c on c.workspace_id = r.workspace_id and c.external_id = r.conversation
    where r.workspace_id = ws and c.id = any(convs));
end $$;
-- +goose StatementEnd

-- The places of the open erasure of these conversations. What they got after its acceptance belongs to the next conversation.
-- +goose StatementBegin
create function cairn.erase_placed(ws bigint, convs bigint[], place bigint, at timestamptz) returns boolean
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select exists (select from erasures e where e.workspace = ws and e.state = 'accepted' and place = any(e.routes) and at <= e.requested_at
    and (e.conversation = any(convs) or exists (select from erase_items i where i.erasure = e.id and i.kind = 'conversation' and i.id = any(convs))))
$$;
-- +goose StatementEnd

-- Opens an erasure, or finds the open one. From here on the workspace cannot be entered. A
-- conversation loses its name, so that a new one can use it.
-- +goose StatementBegin
create function cairn.erase_accept(ws bigint, conv bigint, derive text) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare w workspaces; e bigint; places bigint[];
begin
  perform set_config('cairn.workspace', ws::text, true);
  select * into w from workspaces where id = ws for no key update;
  if w.id is null then
    raise exception 'workspace % not found', ws using errcode = 'CA002';
  end if;
  select id into e from erasures where workspace = ws and conversation is not distinct from conv and subject is null and state = 'accepted';
  if e is not null then return e; end if;
  if w.state <> 'active' then
    raise exception 'workspace % is being erased', ws using errcode = 'CA001';
  end if;
  if conv is null then
    update workspaces set state = 'erasing' where id = ws;
  else
    places := cairn.erase_places(ws, array[conv]);
    update conversations set external_id = 'erased/' || gen_random_uuid(), title = '' where workspace_id = ws and id = conv;
    if not found then
      raise exception 'conversation % not found', conv using errcode = 'CA003';
    end if;
  end if;
  insert into erasures (workspace, workspace_key, conversation, conversation_at, routes, derived)
    values (ws, w.key, conv, (select created_at from conversations where workspace_id = ws and id = conv), coalesce(places, '{}'), derive) returning id into e;
  return e;
end $$;
-- +goose StatementEnd

-- How much of a range of messages an erasure of a subject removes: all, some or none.
-- +goose StatementBegin
create function cairn.erase_covers(erasure bigint, ws bigint, conv bigint, first_seq int, last_seq int) returns text
language sql stable security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select case when exists (select from erase_items i where i.erasure = erase_covers.erasure and i.kind = 'conversation' and i.id = conv) then 'all'
    else (select case when count(i.id) = 0 then 'none' when count(i.id) = count(*) then 'all' else 'some' end
      from messages m left join erase_items i on i.erasure = erase_covers.erasure and i.kind = 'message' and i.id = conv and i.seq = m.seq
      where m.workspace_id = ws and m.conversation_id = conv and m.seq between first_seq and last_seq and m.role in ('user', 'assistant') and m.content <> '') end
$$;
-- +goose StatementEnd

-- Adds runs to those of a subject's erasure, with those that started them and those that they started.
-- +goose StatementBegin
create function cairn.erase_add_runs(erasure bigint, ws bigint, ids text[]) returns void
language sql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  with recursive up as (
    select r.id, r.parent_id from runs r where r.workspace_id = ws and r.id = any(ids)
    union select r.id, r.parent_id from up join runs r on r.workspace_id = ws and r.id = up.parent_id
  ), down as (
    select id from up union select r.id from down join runs r on r.workspace_id = ws and r.parent_id = down.id
  )
  insert into erase_item_runs (erasure, run) select erase_add_runs.erasure, id from down on conflict do nothing
$$;
-- +goose StatementEnd

-- Adds runs that have read what is removed. A reply can repeat it, so the conversation of a turn is
-- listed for review.
-- +goose StatementBegin
create function cairn.erase_readers(erasure bigint, ws bigint, ids text[]) returns void
language sql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  insert into erase_items (erasure, kind, id, review)
  select distinct erase_readers.erasure, 'turns', r.conversation_id, true from runs r
  where r.workspace_id = ws and r.id = any(ids) and r.kind = 'turn' and r.conversation_id is not null
    and not exists (select from erase_items i where i.erasure = erase_readers.erasure and i.kind = 'conversation' and i.id = r.conversation_id)
  on conflict do nothing;
  select cairn.erase_add_runs(erasure, ws, ids)
$$;
-- +goose StatementEnd

-- Adds the runs that have read or written memories.
-- +goose StatementBegin
create function cairn.erase_memory_runs(erasure bigint, ws bigint, ids bigint[]) returns void
language sql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select cairn.erase_readers(erasure, ws, array(select run_id from memory_views where workspace_id = ws and memory_id = any(ids)));
  select cairn.erase_add_runs(erasure, ws, array(
    select run_id from memory_revisions where workspace_id = ws and memory_id = any(ids)
    union select run_id from memory_refs where workspace_id = ws and memory_id = any(ids)
    union select run_id from memories where workspace_id = ws and id = any(ids)
    union select r.id from runs r, jsonb_path_query(r.spec, '$.pinned.refining.candidates[*].id') c join memories m on m.external_id = c #>> '{}'
      where r.workspace_id = ws and r.kind = 'retrieve' and m.workspace_id = ws and m.id = any(ids)))
$$;
-- +goose StatementEnd

-- Adds the runs that have sent conversations to a model.
-- +goose StatementBegin
create function cairn.erase_conversation_runs(erasure bigint, ws bigint, convs bigint[]) returns void
language sql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  select cairn.erase_add_runs(erasure, ws, array(
    select id from runs where workspace_id = ws and conversation_id = any(convs)
    union select run_id from run_conversations where workspace_id = ws and conversation_id = any(convs)
    union select id from runs where workspace_id = ws and kind = 'reflection'
      and exists (select from jsonb_array_elements_text(spec -> 'pinned' -> 'conversations') c where c::bigint = any(convs))))
$$;
-- +goose StatementEnd

-- Opens the erasure of a subject, or finds the open one, and determines what it removes. It returns
-- null if there is no open one and nothing of the name is known. keys are
-- the keys of its targets; names are its spellings in messages, in requests and in the metadata of
-- mem0's clients; marks is how stored requests name it. No writer is active meanwhile. The targets
-- go at once, so that no later prompt names them.
-- +goose StatementBegin
create function cairn.erase_accept_subject(ws bigint, hashes bytea[], keys text[], names text[], marks text[], known boolean) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  w workspaces; e bigint; convs bigint[]; shared bigint[]; n bigint;
  scopes text[] := array(select t || '/' || k from unnest(array['personal', 'procedural']) t, unnest(keys) k);
begin
  perform set_config('cairn.workspace', ws::text, true);
  perform pg_advisory_xact_lock(1, hashint8(ws));
  select * into w from workspaces where id = ws for no key update;
  if w.id is null then
    raise exception 'workspace % not found', ws using errcode = 'CA002';
  end if;
  select id into e from erasures where workspace = ws and subject && hashes and state = 'accepted' order by id limit 1;
  if e is not null then return e; end if;
  if w.state <> 'active' then
    raise exception 'workspace % is being erased', ws using errcode = 'CA001';
  end if;
  if not known then return null; end if;
  insert into erasures (workspace, workspace_key, derived, subject, marks) values (ws, w.key, 'delete', hashes, erase_accept_subject.marks) returning id into e;

  insert into erase_items (erasure, kind, id)
  select e, 'memory', m.id from memories m where m.workspace_id = ws
    and (m.type in ('personal', 'procedural') and m.target = any(keys) or cardinality(m.targets) > 0 and m.targets <@ scopes);

  -- A conversation is the subject's if all memories drawn from it, its speakers and the targets of
  -- its requests are. Otherwise it is shared.
  insert into erase_items (erasure, kind, id)
  with source as (
    select m.id, m.conversation_id as conv from memories m where m.workspace_id = ws
    union select m.id, r.conversation_id from memories m join runs r on r.workspace_id = ws and r.id = m.run_id where m.workspace_id = ws
    union select m.id, h.conversation_id from memories m join memory_histories h on h.workspace_id = ws and h.id = m.history_id where m.workspace_id = ws
    union select v.memory_id, v.conversation_id from memory_revisions v where v.workspace_id = ws
    union select v.memory_id, r.conversation_id from memory_revisions v join runs r on r.workspace_id = ws and r.id = v.run_id where v.workspace_id = ws
    union select f.memory_id, h.conversation_id from memory_refs f join memory_histories h on h.workspace_id = ws and h.id = f.history_id where f.workspace_id = ws
  ), about as (
    select s.conv, m.target = any(keys) as his from source s join memories m on m.workspace_id = ws and m.id = s.id where m.type in ('personal', 'procedural')
    union select s.conv, t = any(scopes) from source s join memories m on m.workspace_id = ws and m.id = s.id, unnest(m.targets) t
    union select conversation_id, name = any(names) from messages where workspace_id = ws and role in ('user', 'assistant') and name <> ''
    union select r.conversation_id, t #>> '{}' = any(names) from runs r, jsonb_path_query(r.spec, '$.pinned.targets[*].memory_target') t where r.workspace_id = ws
  )
  select e, case when bool_and(his) then 'conversation' else 'shared' end, conv from about where conv is not null group by conv having bool_or(his);
  convs := array(select i.id from erase_items i where i.erasure = e and i.kind = 'conversation');

  insert into erase_items (erasure, kind, id, seq)
  select e, 'message', m.conversation_id, m.seq from erase_items i join messages m on m.workspace_id = ws and m.conversation_id = i.id
  where i.erasure = e and i.kind = 'shared' and m.role in ('user', 'assistant') and m.name = any(names);
  insert into erase_items (erasure, kind, id)
  select distinct e, 'chunk', c.id from erase_items i join memory_histories h on h.workspace_id = ws and h.conversation_id = i.id
    join history_chunks c on c.workspace_id = ws and c.history_id = h.id and i.seq between c.from_seq and c.to_seq
  where i.erasure = e and i.kind = 'message';
  shared := array(select cairn.erase_shared(e));

  -- What derives only from the removed is removed; the rest is listed for review.
  insert into erase_items (erasure, kind, id, review)
  select e, 'memory', m.id, not (coalesce(d.sole, false) or coalesce(c.covers = 'all', false)) from memories m
    left join memory_revisions v on v.workspace_id = ws and v.memory_id = m.id and v.version = m.version
    left join cairn.derived_of(ws, convs) d on d.kind = 'memory' and d.id = m.id
    left join lateral (select cairn.erase_covers(e, ws, v.conversation_id, v.from_seq, v.to_seq) as covers where v.conversation_id = any(convs || shared)) c on true
  where m.workspace_id = ws and (d.id is not null or c.covers <> 'none' or m.targets && scopes
    or array[m.metadata -> 'mem0' ->> 'user_id', m.metadata -> 'mem0' ->> 'agent_id', m.metadata -> 'mem0' ->> 'app_id', m.metadata -> 'mem0' ->> 'run_id'] && names)
  on conflict do nothing;
  insert into erase_items (erasure, kind, id, review)
  select e, 'skill', k.id, k.origin in ('user', 'import') or not coalesce(bool_and(c.covers = 'all'), true) from skills k
    left join cairn.derived_of(ws, convs) d on d.kind = 'skill' and d.id = k.id
    left join lateral (select cairn.erase_covers(e, ws, o.conversation_id, o.from_seq, o.to_seq) as covers from skill_sources o
      where o.workspace_id = ws and o.skill_id = k.id) c on true
  where k.workspace_id = ws and (d.id is not null or exists (select from skill_sources o where o.workspace_id = ws and o.skill_id = k.id and o.conversation_id = any(shared)))
  group by k.id, k.origin, d.id having d.id is not null or bool_or(c.covers <> 'none');
  insert into erase_items (erasure, kind, id, review)
  select e, 'soul', v.version, true from soul_versions v where v.workspace_id = ws
    and (v.conversation_id = any(convs) or v.run_id in (select r.id from runs r where r.workspace_id = ws and r.conversation_id = any(convs))
      or v.conversation_id = any(shared) and cairn.erase_covers(e, ws, v.conversation_id, v.from_seq, v.to_seq) <> 'none')
  union all
  select e, 'identity', v.version, true from identity_versions v join memory_histories h on h.workspace_id = ws and h.id = v.history_id
  where v.workspace_id = ws and h.conversation_id = any(shared) and cairn.erase_covers(e, ws, h.conversation_id, h.from_seq, h.to_seq) <> 'none';
  insert into erase_items (erasure, kind, id, review)
  select e, 'turns', i.id, true from erase_items i where i.erasure = e and i.kind = 'shared'
    and exists (select from messages m where m.workspace_id = ws and m.conversation_id = i.id and m.role in ('user', 'assistant') and m.name = '' and m.content not in ('', '[erased]'));
  delete from erase_items where erasure = e and kind = 'shared';

  perform cairn.erase_memory_runs(e, ws, array(select i.id from erase_items i where i.erasure = e and i.kind = 'memory' and not i.review));
  perform cairn.erase_conversation_runs(e, ws, convs || shared);
  perform cairn.erase_add_runs(e, ws, array(select r.id from runs r, jsonb_path_query(r.spec, '$.pinned.**.memory_target') t where r.workspace_id = ws and t #>> '{}' = any(names)));

  update erasures set routes = cairn.erase_places(ws, convs) where id = e;
  update conversations set external_id = 'erased/' || gen_random_uuid(), title = '' where workspace_id = ws and id = any(convs);
  delete from memory_leases where workspace_id = ws and target_key = any(keys);
  get diagnostics n = row_count;
  perform cairn.erase_count(e, 'memory_leases', n);
  delete from memory_targets where workspace_id = ws and target_key = any(keys);
  get diagnostics n = row_count;
  perform cairn.erase_count(e, 'memory_targets', n);
  perform cairn.erase_sessions(ws);
  return e;
end $$;
-- +goose StatementEnd

-- The items of a subject's erasure with their IDs for people: skills that are removed, and all that
-- is left for review.
-- +goose StatementBegin
create function cairn.erase_listed(erasure bigint) returns table (kind text, id bigint, ref text, review boolean)
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare e erasures;
begin
  select * into e from erasures where erasures.id = erasure;
  if e.subject is null then return; end if;
  perform set_config('cairn.workspace', e.workspace::text, true);
  return query select i.kind, i.id, coalesce(m.external_id, k.name, c.external_id, i.id::text), i.review from erase_items i
    left join memories m on i.kind = 'memory' and m.workspace_id = e.workspace and m.id = i.id
    left join skills k on i.kind = 'skill' and k.workspace_id = e.workspace and k.id = i.id
    left join conversations c on i.kind = 'turns' and c.workspace_id = e.workspace and c.id = i.id
  where i.erasure = e.id and (i.review or i.kind = 'skill' and k.id is not null or i.kind = 'memory' and m.type not in ('personal', 'procedural'))
  order by i.kind, i.id;
end $$;
-- +goose StatementEnd

-- The conversations that an open erasure of a subject removes completely.
-- +goose StatementBegin
create function cairn.erase_conversations(erasure bigint) returns setof bigint
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select i.id from erase_items i where i.erasure = erase_conversations.erasure and i.kind = 'conversation' order by 1
$$;
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
  if cairn.erase_scope(e) is null and exists (select from workspaces where id = e.workspace and state = 'active') then
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
declare e erasures; rule erase_rules; convs bigint[]; n bigint; statement text;
begin
  select * into e from cairn.erase_enter(erasure);
  if e.id is null or tbl = 'packages' then return 0; end if;
  convs := cairn.erase_scope(e);
  if convs is null then
    rule.scope := 'true';
  else
    select * into rule from erase_rules r where r.tbl = erase_rows.tbl;
    if rule.how is distinct from 'rows' then return 0; end if;
    if e.subject is not null then rule.scope := concat_ws(' or ', rule.scope, rule.subject); end if;
  end if;
  statement := format('delete from %1$I t where t.ctid = any(array(select t.ctid from %1$I t '
    'where t.workspace_id = $1 and (%2$s) limit $4)) and t.workspace_id = $1 and (%2$s)', tbl, rule.scope);
  if tbl = 'runs' and convs is not null then
    statement := format('with deleted as (%s returning t.id) '
      'insert into erased_runs (workspace_id, id) select $1, id from deleted', statement);
  end if;
  execute statement using e.workspace, convs, e.id, most;
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

-- Revokes all sessions: their prompts contain targets, skills and prompt memories. A session that is
-- being frozen is rendered again.
-- +goose StatementBegin
create function cairn.erase_sessions(ws bigint) returns void
language sql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
  update frozen_sessions set revoked_at = now() where workspace_id = ws and revoked_at is null;
  update workspaces set sessions_epoch = sessions_epoch + 1 where id = ws
$$;
-- +goose StatementEnd

-- Removes up to most messages and up to most memories of a subject, and returns their number. The
-- place of a message in a shared conversation stays: others refer to it by its number, and the
-- numbers have no gaps. Its text is replaced by [erased], its speaker by nothing. Chunks that
-- contain it are removed with the other messages in them, which search still finds one by one.
-- +goose StatementBegin
create function cairn.erase_subject(erasure bigint, most int) returns int
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare e erasures; ws bigint; convs bigint[]; seqs int[]; chunks bigint[]; ids bigint[]; n bigint;
begin
  select * into e from cairn.erase_enter(erasure);
  if e.id is null or e.subject is null then return 0; end if;
  ws := e.workspace;
  select coalesce(array_agg(b.id), '{}'), coalesce(array_agg(b.seq), '{}') into convs, seqs from (
    select i.id, i.seq from erase_items i join messages m on m.workspace_id = ws and m.conversation_id = i.id and m.seq = i.seq
    where i.erasure = e.id and i.kind = 'message' and m.content <> '[erased]' order by i.id, i.seq limit most) b;
  if cardinality(convs) > 0 then
    perform cairn.erase_conversation_runs(e.id, ws, convs);
    chunks := array(select distinct c.id from unnest(convs, seqs) b(conv, seq) join memory_histories h on h.workspace_id = ws and h.conversation_id = b.conv
      join history_chunks c on c.workspace_id = ws and c.history_id = h.id and b.seq between c.from_seq and c.to_seq);
    perform cairn.erase_docs(e.id, ws, array(select d.doc from search_docs d where d.workspace_id = ws and d.kind = 'chunk' and d.owner_id = any(chunks)
      union select d.doc from unnest(convs, seqs) b(conv, seq) join search_docs d on d.workspace_id = ws and d.kind = 'turn' and d.owner_id = b.conv and d.seq = b.seq));
    delete from history_chunks where workspace_id = ws and id = any(chunks);
    get diagnostics n = row_count;
    perform cairn.erase_count(e.id, 'history_chunks', n);
    update messages m set content = '[erased]', name = '', details = '{}',
      tool_calls = (select coalesce(jsonb_agg(c || '{"arguments": "{}"}'), '[]') from jsonb_array_elements(m.tool_calls) c)
    from unnest(convs, seqs) b(conv, seq) where m.workspace_id = ws and m.conversation_id = b.conv and m.seq = b.seq;
    get diagnostics n = row_count;
    perform cairn.erase_count(e.id, 'messages', n);
    update conversations set title = '', notice = '' where workspace_id = ws and id = any(convs);
  end if;

  ids := array(select m.id from erase_items i join memories m on m.workspace_id = ws and m.id = i.id
    where i.erasure = e.id and i.kind = 'memory' and not i.review order by m.id limit most);
  if cardinality(ids) > 0 then
    perform cairn.erase_memory_runs(e.id, ws, ids);
    delete from tool_op_log where workspace_id = ws and op_id in (select op_id from memory_revisions where workspace_id = ws and memory_id = any(ids)
      union select op_id from memories where workspace_id = ws and id = any(ids));
    get diagnostics n = row_count;
    perform cairn.erase_count(e.id, 'tool_op_log', n);
    delete from cases where workspace_id = ws and retrieved && array(select external_id from memories where workspace_id = ws and id = any(ids));
    get diagnostics n = row_count;
    perform cairn.erase_count(e.id, 'cases', n);
    if exists (select from memories where workspace_id = ws and id = any(ids) and type in ('core', 'profile')) then
      perform cairn.erase_sessions(ws);
    end if;
    perform cairn.erase_memories(e.id, ws, ids);
  end if;

  update turns set context = '' where workspace_id = ws and context <> '' and run_id in (select cairn.erase_runs(e.id));
  get diagnostics n = row_count;
  perform cairn.erase_count(e.id, 'turns', n);
  update runs set result = '{}', spec = case kind when 'turn' then spec else '{"pinned": {}}' end
  where workspace_id = ws and id in (select cairn.erase_runs(e.id)) and (result <> '{}' or kind <> 'turn' and spec <> '{"pinned": {}}');
  get diagnostics n = row_count;
  perform cairn.erase_count(e.id, 'runs', n);
  update frozen_sessions s set rendered = '', tools = '[]' where s.workspace_id = ws and s.rendered <> '' and s.revoked_at is not null
    and not exists (select from runs r where r.workspace_id = ws and r.session_id = s.id and r.status <> 'ended');
  get diagnostics n = row_count;
  perform cairn.erase_count(e.id, 'frozen_sessions', n);
  return cardinality(convs) + cardinality(ids);
end $$;
-- +goose StatementEnd

-- Finds runs whose tools have returned what is removed, by the IDs of memories and sessions. Removes
-- stored requests and results of other runs that name the subject's target, for example in a list of
-- all targets. It reads all calls and requests, so it does not lock out writers. It returns how many
-- runs with such requests are open; they are waited for.
-- +goose StatementBegin
create function cairn.erase_requests(erasure bigint) returns bigint
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare e erasures; n bigint;
begin
  select * into e from erasures where id = erasure;
  if e.id is null then
    raise exception 'erasure % not found', erasure using errcode = 'CA003';
  end if;
  if e.state <> 'accepted' or e.marks is null then return 0; end if;
  perform set_config('cairn.workspace', e.workspace::text, true);
  perform cairn.erase_readers(e.id, e.workspace, array(
    select distinct c.run_id from agent_calls c, regexp_matches(c.arguments || ' ' || coalesce(c.result, ''), '\m[0-9a-f]{16}\M', 'g') named
    where c.workspace_id = e.workspace and named[1] in (
      select m.external_id from erase_items i join memories m on m.workspace_id = e.workspace and m.id = i.id where i.erasure = e.id and i.kind = 'memory' and not i.review
      union select h.id from erase_items i join memory_histories h on h.workspace_id = e.workspace and h.conversation_id = i.id where i.erasure = e.id and i.kind in ('conversation', 'message'))));
  delete from tool_op_log o where o.workspace_id = e.workspace and o.created_at <= e.requested_at
    and exists (select from unnest(e.marks) k where position(k in o.result::text) > 0);
  get diagnostics n = row_count;
  perform cairn.erase_count(e.id, 'tool_op_log', n);
  update turns t set context = '' from runs r where t.workspace_id = e.workspace and r.workspace_id = t.workspace_id and r.id = t.run_id and r.status = 'ended'
    and r.created_at <= e.requested_at and exists (select from unnest(e.marks) k where position(k in t.context) > 0);
  get diagnostics n = row_count;
  perform cairn.erase_count(e.id, 'turns', n);
  delete from llm_calls c using runs r where c.workspace_id = e.workspace and r.workspace_id = c.workspace_id and r.id = c.run_id and r.status = 'ended'
    and r.created_at <= e.requested_at and exists (select from unnest(e.marks) k where position(k in cairn.request_of(c.workspace_id, c.conversation_id, c.request, c.parts)) > 0);
  get diagnostics n = row_count;
  perform cairn.erase_count(e.id, 'llm_calls', n);
  delete from request_parts p where p.workspace_id = e.workspace and p.conversation_id <> 0 and exists (select from unnest(e.marks) k where position(k in p.content) > 0)
    and not exists (select from llm_calls c where c.workspace_id = p.workspace_id and c.conversation_id = p.conversation_id and p.sha256 = any(c.parts));
  get diagnostics n = row_count;
  perform cairn.erase_count(e.id, 'request_parts', n);
  return (select count(distinct r.id) from runs r join llm_calls c on c.workspace_id = r.workspace_id and c.run_id = r.id
    where r.workspace_id = e.workspace and r.status <> 'ended' and r.created_at <= e.requested_at
      and exists (select from unnest(e.marks) k where position(k in cairn.request_of(c.workspace_id, c.conversation_id, c.request, c.parts)) > 0));
end $$;
-- +goose StatementEnd

-- Deletes memories with all that refers to them.
-- +goose StatementBegin
create function cairn.erase_memories(erasure bigint, ws bigint, ids bigint[]) returns void
language plpgsql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
declare t text; n bigint;
begin
  if cardinality(ids) = 0 then return; end if;
  perform cairn.erase_docs(erasure, ws, array(select doc from search_docs where workspace_id = ws and kind = 'memory' and owner_id = any(ids)));
  delete from pending_memories where workspace_id = ws and base ?| array(select external_id from memories where workspace_id = ws and id = any(ids));
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'pending_memories', n);
  foreach t in array array['note_recalls', 'memory_views', 'memory_refs', 'memory_revisions'] loop
    execute format('delete from %I where workspace_id = $1 and memory_id = any($2)', t) using ws, ids;
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, t, n);
  end loop;
  delete from memories where workspace_id = ws and id = any(ids);
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'memories', n);
end $$;
-- +goose StatementEnd

-- Deletes skills with all that refers to them, except their packages.
-- +goose StatementBegin
create function cairn.erase_skills(erasure bigint, ws bigint, ids bigint[]) returns void
language plpgsql volatile security invoker set search_path = cairn, pg_catalog, pg_temp as $$
declare t text; n bigint;
begin
  if cardinality(ids) = 0 then return; end if;
  perform cairn.erase_docs(erasure, ws, array(select doc from search_docs where workspace_id = ws and kind = 'skill' and owner_id = any(ids)));
  foreach t in array array['pending_writes', 'skill_uses', 'skill_views', 'skill_sources', 'skill_files', 'skill_versions'] loop
    execute format('delete from %I where workspace_id = $1 and skill_id = any($2)', t) using ws, ids;
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, t, n);
  end loop;
  delete from skills where workspace_id = ws and id = any(ids);
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'skills', n);
end $$;
-- +goose StatementEnd

-- Applies the chosen treatment to the data derived from a conversation. Data that is kept loses its
-- source.
-- +goose StatementBegin
create function cairn.erase_derived(erasure bigint) returns void
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare
  e erasures; ws bigint; convs bigint[]; n bigint;
  its_runs text[]; skill_ids bigint[]; memory_ids bigint[]; docs bigint[]; zips bytea[];
begin
  select * into e from cairn.erase_enter(erasure);
  ws := e.workspace; convs := cairn.erase_scope(e);
  if e.id is null or convs is null then return; end if;
  its_runs := array(select id from runs where workspace_id = ws and conversation_id = any(convs));
  skill_ids := array(select id from cairn.derived_of(ws, convs) where kind = 'skill' and sole
    union select i.id from erase_items i join skills k on k.workspace_id = ws and k.id = i.id where i.erasure = e.id and i.kind = 'skill' and not i.review);
  memory_ids := array(select id from cairn.derived_of(ws, convs) where kind = 'memory' and sole);
  update erasures set affected = jsonb_build_object(
    'skills', coalesce((affected ->> 'skills')::bigint, 0) + cardinality(skill_ids),
    'memories', coalesce((affected ->> 'memories')::bigint, 0) + cardinality(memory_ids)) where id = erasure;
  -- The zips of uncommitted packages and of proposals are deleted with them.
  zips := array(select decode(package -> 'version' ->> 'PackageSHA', 'hex') from distill_tasks where workspace_id = ws and (run_id = any(its_runs) or run_id in (select cairn.erase_runs(e.id))) and package is not null
    union select decode(version ->> 'PackageSHA', 'hex') from pending_writes where workspace_id = ws and jsonb_typeof(version) = 'object' and (run_id = any(its_runs) or run_id in (select cairn.erase_runs(e.id)) or e.derived = 'delete' and skill_id = any(skill_ids)));
  docs := array(select cairn.erase_conversation_docs(ws, convs));

  if e.derived = 'quarantine' then
    update skills set status = 'quarantined' where workspace_id = ws and id = any(skill_ids);
    update memories set status = 'quarantined' where workspace_id = ws and id = any(memory_ids) and status = 'active';
    update search_docs set status = 'quarantined' where workspace_id = ws and (kind = 'skill' and owner_id = any(skill_ids) or kind = 'memory' and owner_id = any(memory_ids));
  elsif e.derived = 'delete' then
    zips := zips || array(select package_sha256 from skill_versions where workspace_id = ws and skill_id = any(skill_ids));
    perform cairn.erase_memories(erasure, ws, memory_ids);
    delete from memory_revisions where workspace_id = ws and (conversation_id = any(convs) or run_id = any(its_runs));
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'memory_revisions', n);
    perform cairn.erase_skills(erasure, ws, skill_ids);
  end if;
  perform cairn.erase_docs(erasure, ws, docs);

  -- Sessions contain memories and skills. A run in progress keeps its session.
  if e.derived <> 'keep' and cardinality(skill_ids) + cardinality(memory_ids) > 0 then
    update frozen_sessions s set revoked_at = coalesce(s.revoked_at, now()) where s.workspace_id = ws;
    update frozen_sessions s set rendered = '', tools = '[]' where s.workspace_id = ws and e.derived = 'delete'
      and not exists (select from runs r where r.workspace_id = ws and r.session_id = s.id and r.status <> 'ended');
  end if;

  update memories set conversation_id = null, from_seq = null, to_seq = null where workspace_id = ws and conversation_id = any(convs);
  update memories set run_id = null where workspace_id = ws and run_id = any(its_runs);
  update memories set history_id = null where workspace_id = ws and history_id in (select id from memory_histories where workspace_id = ws and conversation_id = any(convs));
  update memory_revisions set conversation_id = null, from_seq = null, to_seq = null where workspace_id = ws and conversation_id = any(convs);
  update memory_revisions set run_id = null where workspace_id = ws and run_id = any(its_runs);
  update soul_versions set conversation_id = null, from_seq = null, to_seq = null where workspace_id = ws and conversation_id = any(convs);
  update soul_versions set run_id = null where workspace_id = ws and run_id = any(its_runs);
  delete from skill_sources where workspace_id = ws and conversation_id = any(convs);
  get diagnostics n = row_count;
  perform cairn.erase_count(erasure, 'skill_sources', n);
  update skill_versions set run_id = null, task_key = null where workspace_id = ws and run_id = any(its_runs);

  -- They are unused: their objects are deleted with the rows, or by the collector if the erasure
  -- ends here.
  update packages p set state = 'condemned', touched_at = 'epoch' where p.workspace_id = ws and p.sha256 = any(zips)
    and not exists (select from skill_versions v where v.workspace_id = ws and v.package_sha256 = p.sha256)
    and not exists (select from pending_writes w where w.workspace_id = ws and w.state = 'pending' and not coalesce(w.run_id = any(its_runs) or w.run_id in (select cairn.erase_runs(e.id)), false)
      and jsonb_typeof(w.version) = 'object' and decode(w.version ->> 'PackageSHA', 'hex') = p.sha256);
end $$;
-- +goose StatementEnd

-- Identity versions derived from a conversation are treated like memories: kept without their
-- source, deactivated or deleted. The version that was active before becomes active again.
-- +goose StatementBegin
create function cairn.erase_identity(erasure bigint) returns void
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare e erasures; convs bigint[]; head int; before int; mine int[]; n bigint;
begin
  select * into e from cairn.erase_enter(erasure);
  convs := cairn.erase_scope(e);
  if e.id is null or convs is null then return; end if;
  mine := array(select version from identity_versions t where t.workspace_id = e.workspace
    and (t.history_id in (select id from memory_histories where workspace_id = e.workspace and conversation_id = any(convs))
      or t.run_id in (select id from runs where workspace_id = e.workspace and conversation_id = any(convs))));
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
  if e.id is null or cairn.erase_scope(e) is null then return; end if;
  perform cairn.erase_derived(erasure);
  perform cairn.erase_identity(erasure);
  for t in select tbl from cairn.erase_tables() order by place loop
    perform cairn.erase_rows(erasure, t, null);
  end loop;
  delete from conversations where workspace_id = e.workspace and id = any(cairn.erase_scope(e));
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
    and (cairn.erase_scope(e) is null or p.state = 'condemned' and p.touched_at = 'epoch') order by p.sha256 limit most;
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

-- Gives an erasure that is repeated after a restore the token of the first one.
-- +goose StatementBegin
create function cairn.erase_repeat(erasure bigint, first_token uuid) returns void
language sql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
  update erasures set token = first_token where id = erasure
$$;
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

-- The number of rows of a workspace or of conversations, by table; of an open erasure of a subject,
-- those that it has not erased yet.
-- +goose StatementBegin
create function cairn.erase_rows_of(ws bigint, conv bigint, erasure bigint) returns table (tbl text, n bigint)
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare t record; e erasures; convs bigint[] := case when conv is not null then array[conv] end;
begin
  perform set_config('cairn.workspace', ws::text, true);
  select * into e from erasures where id = erasure and workspace = ws and subject is not null;
  if e.id is not null then convs := cairn.erase_scope(e); end if;
  for t in select o.tbl, case when convs is null then 'true' when e.id is not null then nullif(concat_ws(' or ', r.scope, r.subject, r.blank), '') else r.scope end as scope
      from cairn.erase_tables() o left join erase_rules r on r.tbl = o.tbl order by o.tbl loop
    continue when t.scope is null;
    tbl := t.tbl;
    execute format('select count(*) from %I t where t.workspace_id = $1 and (%s)', t.tbl, t.scope) into n using ws, convs, e.id;
    return next;
  end loop;
end $$;
-- +goose StatementEnd

-- Counts the remaining data, and ends the erasure if nothing remains: no row, no object, no open
-- workflow. Then it forgets the subject's name. The workspace's own row is deleted in the last step.
-- +goose StatementBegin
create function cairn.erase_end(erasure bigint) returns boolean
language plpgsql volatile security definer set search_path = cairn, pg_catalog, pg_temp as $$
declare e erasures; n bigint; total bigint;
begin
  select * into e from cairn.erase_enter(erasure);
  if e.id is null then return true; end if;
  update erasures u set remaining = c.counts from (select jsonb_object_agg(o.tbl, o.n) as counts, sum(o.n) as total from cairn.erase_rows_of(e.workspace, e.conversation, e.id) o) c
  where u.id = erasure returning c.total into total;
  if total > 0 or e.objects_left is distinct from 0 or e.workflows_left is distinct from 0 then return false; end if;
  if cairn.erase_scope(e) is null then
    delete from workspaces where id = e.workspace;
    get diagnostics n = row_count;
    perform cairn.erase_count(erasure, 'workspaces', n);
  end if;
  update erasures set state = 'ended', ended_at = now(), marks = null where id = erasure;
  delete from erase_items i where i.erasure = erase_end.erasure and not i.review;
  delete from erase_item_runs i where i.erasure = erase_end.erasure;
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
  skill_ids bigint[]; memory_ids bigint[]; docs bigint[]; zips bytea[];
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
  ) select coalesce(array_agg(id), '{}') into memory_ids from gone;
  perform cairn.erase_memories(null, ws, memory_ids);

  zips := array(select package_sha256 from skill_versions where workspace_id = ws and skill_id = any(skill_ids)
    union select decode(version ->> 'PackageSHA', 'hex') from pending_writes where workspace_id = ws and jsonb_typeof(version) = 'object' and skill_id = any(skill_ids));
  delete from distill_files f using distill_tasks t where t.workspace_id = ws and t.skill_id = any(skill_ids) and t.stage = 'ended'
    and f.workspace_id = ws and f.run_id = t.run_id and f.task_key = t.task_key;
  update distill_tasks set draft = null, package = null where workspace_id = ws and skill_id = any(skill_ids) and stage = 'ended';
  perform cairn.erase_skills(null, ws, skill_ids);
  -- The collector deletes their objects in its next pass.
  update packages p set state = 'condemned', touched_at = 'epoch' where p.workspace_id = ws and p.sha256 = any(zips)
    and not exists (select from skill_versions v where v.workspace_id = ws and v.package_sha256 = p.sha256)
    and not exists (select from pending_writes w where w.workspace_id = ws and w.state = 'pending' and jsonb_typeof(w.version) = 'object' and decode(w.version ->> 'PackageSHA', 'hex') = p.sha256);
  return cardinality(skill_ids) + cardinality(memory_ids);
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
