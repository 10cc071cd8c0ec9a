-- +goose Up
-- The library: what happens to skills after they were made.

-- The head that a task's draft has been joined with by a model, or that it was
-- shown: a package on any other head needs a merge first.
alter table distill_tasks add column based_on_skill bigint not null default 0;
alter table distill_tasks add column based_on_version int not null default 0;

alter table skill_versions add column risk text[] not null default '{}';       -- findings of the scan, never their text
alter table skill_versions add column redactions int not null default 0;       -- secrets that were kept from the model
alter table skill_versions add column quality jsonb;                           -- a model's score of 0–10 with its reason; null when none was given
alter table skill_versions add column extra jsonb not null default '[]';       -- what the package holds beside SKILL.md, scripts and references: path, size, hash
alter table skill_versions add column restores int not null default 0;         -- of a rollback: the version that it went back to

-- A draft is judged beside the writing of its files.
alter table distill_tasks add column quality jsonb;
-- What tasks under way were shown is not pruned under them.
create index distill_tasks_open on distill_tasks (workspace_id) where stage <> 'ended';

-- Versions are never changed; old ones may be pruned.
grant delete on skill_versions, skill_files, skill_sources to cairn_app;

-- A change that waits for approval. The head does not move until then.
create table pending_writes (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  skill_id     bigint not null,
  base_version int not null,
  version      jsonb not null,                         -- what would become the head
  reason       text not null,                          -- why it waits: upload, risk
  origin       text not null,
  state        text not null default 'pending' check (state in ('pending', 'approved', 'rejected')),
  created_at   timestamptz not null default now(),
  decided_at   timestamptz,
  primary key (workspace_id, id),
  foreign key (workspace_id, skill_id) references skills
);
create index pending_writes_open on pending_writes (workspace_id, skill_id) where state = 'pending';

-- One row for each time that a skill was used, under the caller's id, so that a
-- retry counts once; the counters of skills follow it.
create table skill_uses (
  workspace_id bigint not null,
  skill_id     bigint not null,
  use_id       text not null,
  version      int not null,
  outcome      text not null default '' check (outcome in ('', 'pass', 'fail')),
  created_at   timestamptz not null default now(),
  primary key (workspace_id, skill_id, use_id),
  foreign key (workspace_id, skill_id) references skills
);

-- What failed for good is not tried again at once: the same messages, asked the
-- same way, would only be paid for again.
create table failure_memos (
  workspace_id bigint not null references workspaces,
  key          bytea not null,                         -- of the task's messages, the instructions and the model
  code         text not null,
  reason       text not null,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, key)
);

create table api_keys (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  name         text not null,
  hash         bytea not null unique,                  -- SHA-256 of the key, which nobody keeps
  hint         text not null,                          -- its first characters, to tell keys apart
  scopes       text[] not null,
  created_at   timestamptz not null default now(),
  revoked_at   timestamptz,
  primary key (workspace_id, id)
);

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['pending_writes', 'skill_uses', 'failure_memos', 'api_keys'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
    execute format('grant select, insert on %I to cairn_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant update (state, decided_at) on pending_writes to cairn_app;
grant update (outcome) on skill_uses to cairn_app;
grant update (code, reason, created_at), delete on failure_memos to cairn_app;
grant update (revoked_at) on api_keys to cairn_app;

-- A key names its workspace, so it is looked up before any can be entered. The
-- caller shows the hash of a key; only who has the key has its hash.
create policy api_keys_definer on api_keys for select to cairn_owner using (true);
-- +goose StatementBegin
create function cairn.resolve_key(key_hash bytea) returns table (ws_id bigint, ws_name text, ws_key text, key_id bigint, key_scopes text[])
language sql stable security definer set search_path = cairn, pg_catalog, pg_temp as $$
  select w.id, w.external_id, w.key, k.id, k.scopes from api_keys k join workspaces w on w.id = k.workspace_id
  where k.hash = key_hash and k.revoked_at is null and w.state = 'active'
$$;
-- +goose StatementEnd
revoke all on function cairn.resolve_key(bytea) from public;
grant execute on function cairn.resolve_key(bytea) to cairn_app;

-- BM25 over postings and exact vector distance, fused by reciprocal rank. A query
-- term that a tenth of the documents hold says nothing, unless all of them are such.
-- Callers join what the documents stand for, so that a search is one round trip.
-- The body is bound when it is made, and planned as part of the caller's statement.
-- +goose StatementBegin
create function cairn.rank_docs(ws bigint, doc_kind text, doc_states text[], query_terms int[], query_vector halfvec, query_space smallint, max_rows int)
returns table (doc bigint, owner_id bigint, lexical float8, hits int, terms int, cosine float8, score float8)
language sql stable security invoker
begin atomic
with n as (
  select coalesce((select docs from lex_stats where workspace_id = ws), 0) as docs
), q as (
  select t.term, t.df, ln(1 + (n.docs - t.df + 0.5) / (t.df + 0.5)) as idf
  from lex_terms t, n where t.workspace_id = ws and t.term = any(query_terms) and t.df > 0
), keep as (
  select q.* from q, n where q.df <= greatest(50, n.docs / 10) or not exists (select from q q2 where q2.df <= n.docs / 10)
), l as (
  select p.doc, sum(p.w * k.idf) as score, count(*) as hits, row_number() over (order by sum(p.w * k.idf) desc, p.doc) as r
  from keep k join lex_postings p on p.workspace_id = ws and p.term = k.term
  join search_docs s on s.workspace_id = ws and s.doc = p.doc and s.kind = doc_kind and s.status = any(doc_states)
  group by p.doc order by score desc, p.doc limit 100
), d as (
  select e.doc, (1 - (e.v <=> query_vector))::float8 as cosine, row_number() over (order by e.v <=> query_vector, e.doc) as r
  from embeddings e
  join search_docs s on s.workspace_id = ws and s.doc = e.doc and s.kind = doc_kind and s.status = any(doc_states)
  where e.workspace_id = ws and e.space = query_space
  order by (e.v <=> query_vector) + 0, e.doc limit 100
)
select s.doc, s.owner_id, coalesce(l.score, 0)::float8 as lexical, coalesce(l.hits, 0)::int as hits, (select count(*) from keep)::int as terms,
  coalesce(d.cosine, 0)::float8 as cosine,
  (coalesce(1.0 / (60 + l.r), 0) + coalesce(1.0 / (60 + d.r), 0))::float8 as score
from l full join d on d.doc = l.doc
join search_docs s on s.workspace_id = ws and s.doc = coalesce(l.doc, d.doc)
order by score desc, s.doc limit max_rows;
end;
-- +goose StatementEnd
