-- +goose Up
-- Search: one table of all searchable documents, an index of their words, and vectors by embedding
-- space. The program ranks the candidates that the functions of this file return.

-- A turn is a message of a user or an assistant: owner_id is its conversation, seq its number
-- there. All other documents have seq 0.
create table search_docs (
  workspace_id    bigint not null references workspaces,
  doc             bigint generated always as identity,
  kind            text not null check (kind in ('skill', 'memory', 'turn', 'chunk')),
  owner_id        bigint not null,
  conversation_id bigint,
  seq             int not null default 0,
  event_time      timestamptz,
  status          text not null,
  text            text not null,                        -- the indexed and embedded text
  session         int not null default 0,               -- of a turn: the seq at which its period of activity began
  type            text not null default '',             -- of a memory
  target          text not null default '',             -- of a memory: its target; of a turn: the speaker
  target_terms    int[] not null default '{}',          -- the words of target, hashed like those of a query
  asks            boolean not null default false,       -- ends with a question
  dated           boolean not null default false,       -- contains words of time
  primary key (workspace_id, doc),
  unique (workspace_id, kind, owner_id, seq)
);

-- Words: the number of a workspace's documents, and the number of those that contain a word.
create table lex_stats (
  workspace_id bigint primary key references workspaces,
  docs         int not null,
  counted_at   timestamptz not null default now()       -- when the frequencies were last counted again
);

create table lex_terms (
  workspace_id bigint not null references workspaces,
  term         int not null,                            -- hash of the word, or of a filter key
  df           int not null,
  max_w        real not null default 0 check (max_w between 0 and 1000), -- highest weight that a document ever had
  -- Turns whose speaker's name contains this word. As a word it is little evidence, as the
  -- speaker's name it is strong evidence.
  speakers     int not null default 0,
  primary key (workspace_id, term)
);

-- The words of a document. A term is a hash below 1,000,000,000; filter keys (kind,
-- type, target, conversation) are hashes from there up to 2,147,483,647. keys holds
-- workspace_id << 32 | term for both, so that one GIN index answers words and filters
-- of one workspace; sv holds the weight of each term (lexical.Weight), so that the
-- distance to a query is its exact BM25 score.
create table lex_docs (
  workspace_id bigint not null check (workspace_id < 2147483648),
  doc          bigint not null,
  event_time   timestamptz,
  keys         bigint[] not null,
  sv           sparsevec(1000000000) not null,
  primary key (workspace_id, doc),
  foreign key (workspace_id, doc) references search_docs on delete cascade
);
create index lex_docs_keys on lex_docs using gin (keys) with (fastupdate = off);

-- A model of embeddings with its dimension. All workspaces share the spaces.
create table embedding_spaces (
  id    smallint primary key,
  model text not null,
  dims  int not null check (dims between 1 and 4000),
  -- retired: no workspace has used it for some days, and its partition was dropped
  state text not null default 'active' check (state in ('active', 'retired')),
  opened_at timestamptz not null default now(),         -- when a process last started with this model
  unique (model, dims)
);

-- The space that searches of a workspace use, null before its first vector. The previous one can be
-- used again until previous_until.
alter table workspaces
  add column space_id          smallint references embedding_spaces,
  add column previous_space_id smallint references embedding_spaces,
  add column previous_until    timestamptz;
grant update (space_id, previous_space_id, previous_until) on workspaces to cairn_app;

-- Untyped halfvec: a new model adds a space and its partition, and never alters a type. Each
-- partition checks its own dimension.
create table embeddings (
  workspace_id bigint not null,
  doc          bigint not null,
  space        smallint not null references embedding_spaces,
  v            halfvec not null,
  primary key (space, workspace_id, doc),
  foreign key (workspace_id, doc) references search_docs on delete cascade
) partition by list (space);
alter table embeddings alter column v set storage plain;

-- A re-embedding writes the vectors of a workspace in a space that it does not use yet. Documents
-- up to last_doc have their vector, or were refused. Both change in one transaction.
create table reembed_progress (
  workspace_id bigint not null references workspaces,
  space        smallint not null references embedding_spaces,
  last_doc     bigint not null default 0,
  done         int not null default 0,                  -- vectors written
  total        int not null,                            -- documents without a vector at the start
  failed       int not null default 0,                  -- documents that the model refused
  rate         int not null default 0,                  -- documents per second, 0 for no limit
  state        text not null default 'running' check (state in ('running', 'paused', 'completed', 'cancelled', 'failed')),
  reason       text not null default '',                -- why it failed
  started_at   timestamptz not null default now(),
  finished_at  timestamptz,
  primary key (workspace_id, space)
);

-- Documents that a model refused to embed. They are found by their words.
create table embed_refusals (
  workspace_id bigint not null,
  doc          bigint not null,
  space        smallint not null references embedding_spaces,
  reason       text not null,
  primary key (workspace_id, space, doc),
  foreign key (workspace_id, doc) references search_docs on delete cascade
);

-- Corrects the frequencies and the highest weights of words, and returns how many were wrong. The
-- differences are computed within one snapshot and added, so that changes of writers in between are
-- kept. A highest weight is lowered only if the row did not change in between. Rows are locked in the
-- order of writers.
-- +goose StatementBegin
create function cairn.recount_terms(ws bigint) returns bigint
language sql volatile security invoker set search_path = cairn, public, pg_catalog, pg_temp as $$
with truth as materialized (
  select (k & 4294967295)::int as term, count(*)::int as df from lex_docs l, unnest(l.keys) k where l.workspace_id = ws group by 1
), weight as materialized (                             -- a sparse vector counts from 1
  select split_part(x, ':', 1)::int - 1 as term, max(split_part(x, ':', 2)::real) as w
  from lex_docs l, string_to_table(substring(l.sv::text from '^{(.+)}'), ',') x where l.workspace_id = ws group by 1
), drift as materialized (
  select s.term, s.xmin as stored, coalesce(t.df, 0) - s.df as delta, coalesce(w.w, 0) as w
  from lex_terms s left join truth t on t.term = s.term left join weight w on w.term = s.term
  where s.workspace_id = ws and (s.df <> coalesce(t.df, 0) or s.max_w <> coalesce(w.w, 0))
), locked as materialized (
  select t.term from lex_terms t where t.workspace_id = ws and t.term in (select term from drift) order by t.term for update
), changed as (
  update lex_terms t set df = t.df + d.delta, max_w = case when t.xmin = d.stored then d.w else t.max_w end
  from drift d where t.workspace_id = ws and t.term = d.term and (select count(*) from locked) >= 0 returning 1
)
select count(*) from changed
$$;
-- +goose StatementEnd

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['search_docs', 'lex_stats', 'lex_terms', 'lex_docs', 'embeddings', 'reembed_progress', 'embed_refusals'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert, update, delete on search_docs, lex_stats, lex_terms, lex_docs, embeddings to cairn_app;
grant select, insert, update on reembed_progress to cairn_app;
grant select, insert, delete on embed_refusals to cairn_app;

-- The process that maintains graphs and frequencies sees which workspaces are big, and which were not
-- counted for a week, and nothing else of them.
create policy lex_stats_system on lex_stats for select to cairn_system using (docs >= 10000 or counted_at < now() - interval '7 days');
grant select on lex_stats to cairn_system;

alter table embedding_spaces enable row level security;
alter table embedding_spaces force row level security;
create policy embedding_spaces_all on embedding_spaces using (true) with check (true);
grant select on embedding_spaces to cairn_app, cairn_system;

-- A space is created, or opened again, when a process starts with its model. Nothing is granted on
-- the partition itself: a policy on the parent does not protect a child that is read directly.
-- +goose StatementBegin
create function cairn.open_space(space_model text, space_dims int) returns smallint
language plpgsql volatile security definer set search_path = cairn, public, pg_catalog, pg_temp as $$
declare s smallint; t text;
begin
  for attempt in 1..2 loop                              -- the second with the lock
    select id into s from embedding_spaces where model = space_model and dims = space_dims and state = 'active';
    if s is not null then
      update embedding_spaces set opened_at = now() where id = s and opened_at < now() - interval '1 hour';
      return s;
    end if;
    perform pg_advisory_xact_lock(2, 0);
  end loop;
  update embedding_spaces set opened_at = now(), state = 'active' where model = space_model and dims = space_dims returning id into s;
  if s is null then
    select coalesce(max(id), 0) + 1 into s from embedding_spaces;
    insert into embedding_spaces (id, model, dims) values (s, space_model, space_dims);
  end if;
  t := 'embeddings_space_' || s;
  execute format('create table %I partition of embeddings (check (vector_dims(v) = %s)) for values in (%s)', t, space_dims, s);
  execute format('alter table %I enable row level security', t);
  execute format('alter table %I force row level security', t);
  execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  return s;
end $$;
-- +goose StatementEnd

-- Drops the partition of a space, unless keep contains it, a workspace uses it or can return to it,
-- or a process has started with its model within 7 days. Returns the space, null if there is none to
-- retire. The owner of the tables calls it, one space in a transaction. It waits one second for
-- searches in progress.
-- +goose StatementBegin
create function cairn.retire_space(keep smallint[]) returns smallint
language plpgsql volatile security invoker set search_path = cairn, public, pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare s smallint;
begin
  perform pg_advisory_xact_lock(2, 0);
  select e.id into s from embedding_spaces e where e.state = 'active' and e.id <> all(keep) and e.opened_at < now() - interval '7 days'
    and not exists (select from workspaces w where w.space_id = e.id or w.previous_space_id = e.id and w.previous_until > now())
    order by e.id limit 1;
  if s is not null then
    update embedding_spaces set state = 'retired' where id = s;
    execute format('drop table %I', 'embeddings_space_' || s);
  end if;
  return s;
end $$;
-- +goose StatementEnd
revoke all on function cairn.retire_space(smallint[]) from public;
grant execute on function cairn.retire_space(smallint[]) to cairn_owner;
revoke all on function cairn.open_space(text, int) from public;
grant execute on function cairn.open_space(text, int) to cairn_app;

-- The name of a workspace's own graph over its vectors. Few workspaces are big enough to need one
-- (tens of thousands of documents). The graph contains only the workspace's rows, so a scan of it
-- never returns too few.
-- +goose StatementBegin
create function cairn.vector_index(ws bigint, space smallint) returns text
language sql immutable as $$ select format('embeddings_space_%s_graph_%s', space, ws) $$;
-- +goose StatementEnd

-- The statement that creates that graph. An operator runs it as the owner of the tables, outside of
-- a transaction. It does not block writers. With this many edges and this build effort, searches
-- need few steps. Measured recall of the ten nearest: 0.987 at ef_search 100 for synthetic memories
-- of 384 dimensions, 0.989 at 80 for 1,536 dimensions.
-- +goose StatementBegin
create function cairn.vector_index_statement(ws bigint, space smallint) returns text
language sql stable security invoker set search_path = cairn, public, pg_catalog, pg_temp as $$
  select format('create index concurrently if not exists %I on embeddings_space_%s using hnsw ((v::halfvec(%s)) halfvec_cosine_ops) with (m = 24, ef_construction = 128) where workspace_id = %s',
    cairn.vector_index(ws, space), space, s.dims, ws)
  from embedding_spaces s where s.id = space
$$;
-- +goose StatementEnd

-- The statement that drops the graph, run in the same way.
-- +goose StatementBegin
create function cairn.vector_index_drop(ws bigint, space smallint) returns text
language sql immutable as $$ select format('drop index concurrently if exists cairn.%I', cairn.vector_index(ws, space)) $$;
-- +goose StatementEnd

-- The workspaces that have a graph in a space. An invalid graph is the remains of an interrupted
-- build: queries do not use it, but writers update it.
-- +goose StatementBegin
create function cairn.vector_graphs(space smallint) returns table (ws bigint, valid boolean)
language sql stable security invoker set search_path = cairn, public, pg_catalog, pg_temp as $$
  select substring(c.relname from '_graph_([0-9]+)$')::bigint, i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid
  where i.indrelid = to_regclass('cairn.embeddings_space_' || space) and c.relname like 'embeddings\_space\_%\_graph\_%'
$$;
-- +goose StatementEnd

-- The size of the graph in bytes, 0 without one.
-- +goose StatementBegin
create function cairn.graph_bytes(ws bigint, space smallint) returns bigint
language sql stable security invoker set search_path = cairn, public, pg_catalog, pg_temp as $$
  select coalesce((select pg_relation_size(i.indexrelid) from pg_index i where i.indexrelid = to_regclass(cairn.vector_index(ws, space)) and i.indisvalid), 0)
$$;
-- +goose StatementEnd

-- Above this number of documents, the vectors are read with a plan made for the workspace, which
-- may use several processors. The planning time is then negligible.
-- +goose StatementBegin
create function cairn.many_documents() returns int language sql immutable as $$ select 20000 $$;
-- +goose StatementEnd

-- The exact nearest documents of a workspace with many documents: adding zero prevents the use of
-- any index for the order. nearest disables sequential scans; with sorting it is planned with
-- parallel processes that sort their share.
-- +goose StatementBegin
create function cairn.nearest_of_many(ws bigint, query_vector halfvec, query_space smallint, max_rows int) returns table (doc bigint, dist float8)
language plpgsql stable security invoker set search_path = cairn, public, pg_catalog, pg_temp set enable_seqscan = on set jit = off set enable_sort = on as $$
begin
  return query execute format('select e.doc, (e.v <=> $1) + 0 as dist from embeddings e where e.workspace_id = %1$s and e.space = %2$s order by dist limit %3$s', ws, query_space, max_rows) using query_vector;
end $$;
-- +goose StatementEnd

-- The same by the workspace's own graph. Sorting is disabled, because the graph returns rows in
-- order. This forces the plan, whatever the statistics say.
-- +goose StatementBegin
create function cairn.nearest_in_graph(ws bigint, query_vector halfvec, query_space smallint, max_rows int) returns table (doc bigint, dist float8)
language plpgsql stable security invoker set search_path = cairn, public, pg_catalog, pg_temp set enable_sort = off set jit = off as $$
begin
  perform set_config('hnsw.ef_search', case when (select dims from embedding_spaces where id = query_space) < 1024 then '100' else '80' end, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true);
  return query execute format('select e.doc, e.v::halfvec(%1$s) <=> $1 from embeddings e where e.workspace_id = %2$s and e.space = %3$s order by e.v::halfvec(%1$s) <=> $1 limit %4$s',
    (select dims from embedding_spaces where id = query_space), ws, query_space, max_rows) using query_vector;
end $$;
-- +goose StatementEnd

-- lex_candidates returns the documents with the highest word scores among those that
-- hold every key of at least one set; without sets, among all of the workspace. A null
-- query scores 0 and returns every such document. Array containment is not leakproof:
-- under row-level security the planner would read the whole workspace. So this function
-- runs as cairn_index, which may read lex_docs only, and checks that the workspace and
-- every key are those of the transaction.
-- +goose StatementBegin
create function cairn.lex_candidates(ws bigint, sets text[], query sparsevec, since timestamptz, until timestamptz, max_rows int)
returns table (doc bigint, score float8)
language plpgsql stable security definer rows 100 set search_path = cairn, public, pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare holds text;
begin
  if ws is distinct from nullif(current_setting('cairn.workspace', true), '')::bigint
      or exists (select from unnest(sets) s(keys), unnest(s.keys::bigint[]) k where k >> 32 <> ws) then
    raise exception 'workspace % is not the workspace of this transaction', ws using errcode = 'CA006';
  end if;
  select string_agg(format('d.keys @> %L::bigint[]', s.keys::bigint[]::text), ' or ') into holds from unnest(sets) s(keys);
  return query execute 'select o.doc, o.score from (select d.doc, '
    || case when query is null then '0::float8' else '-(d.sv <#> $2)' end || ' as score from lex_docs d where '
    || case when holds is null then 'd.workspace_id = $1' else 'd.workspace_id + 0 = $1' end -- keys have the workspace, so their index is used
    || case when since is null then '' else ' and d.event_time >= $3' end || case when until is null then '' else ' and d.event_time < $4' end
    || coalesce(' and (' || holds || ')', '') || ') o where $2 is null or o.score > 0 order by o.score desc, o.doc limit $5'
    using ws, query, since, until, max_rows;
end $$;
-- +goose StatementEnd
create policy lex_docs_index on lex_docs for select to cairn_index using (true);
grant select on lex_docs to cairn_index;
revoke all on function cairn.lex_candidates(bigint, text[], sparsevec, timestamptz, timestamptz, int) from public;
grant execute on function cairn.lex_candidates(bigint, text[], sparsevec, timestamptz, timestamptz, int) to cairn_app;
grant create on schema cairn to cairn_index;
alter function cairn.lex_candidates(bigint, text[], sparsevec, timestamptz, timestamptz, int) owner to cairn_index;
revoke create on schema cairn from cairn_index;

-- nearest returns the documents with the smallest cosine distance to a vector: among
-- docs, unless that is null, or else among all of the workspace, by its graph if it
-- has one.
-- +goose StatementBegin
create function cairn.nearest(ws bigint, docs bigint[], query_vector halfvec, query_space smallint, max_rows int) returns table (doc bigint, dist float8)
language plpgsql stable security invoker rows 100 set search_path = cairn, public, pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare total int := coalesce((select s.docs from lex_stats s where s.workspace_id = ws), 0);
begin
  if docs is not null then
    return query select e.doc, ((e.v <=> query_vector) + 0)::float8 as dist from embeddings e
      where e.workspace_id = ws and e.space = query_space and e.doc = any(docs) order by dist, e.doc limit max_rows;
  elsif total >= cairn.many_documents() and coalesce((select i.indisvalid from pg_index i where i.indexrelid = to_regclass(cairn.vector_index(ws, query_space))), false) then
    return query select n.doc, n.dist from cairn.nearest_in_graph(ws, query_vector, query_space, max_rows) n order by n.dist, n.doc;
  elsif total >= cairn.many_documents() then
    return query select n.doc, n.dist from cairn.nearest_of_many(ws, query_vector, query_space, max_rows) n order by n.dist, n.doc;
  else                                                  -- backward: so the vectors of a page are read upwards in memory
    return query select b.doc, b.dist from (
      select e.doc, ((e.v <=> query_vector) + 0)::float8 as dist from embeddings e where e.workspace_id = ws and e.space = query_space order by e.doc desc offset 0) b
    order by b.dist, b.doc limit max_rows;
  end if;
end $$;
-- +goose StatementEnd

-- candidate_docs returns documents with what ranking needs of them, and the turns up
-- to two places before and after each turn in the same session: a turn is ranked
-- together with those around it.
-- +goose StatementBegin
create function cairn.candidate_docs(ws bigint, docs bigint[])
returns table (doc bigint, wanted boolean, kind text, owner_id bigint, seq int, session int, type text, target text, target_terms int[], asks boolean, dated boolean,
  event_time timestamptz, conversation_id bigint, utility float8, sv sparsevec)
language plpgsql stable security invoker rows 200 set search_path = cairn, public, pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
begin
  return query
with c as materialized (
  select s.* from search_docs s where s.workspace_id = ws and s.doc = any(docs) and s.status = 'active'
), around as (
  select c.owner_id, c.session, c.seq + o.by as seq from c, unnest(array[-2, -1, 1, 2]) o(by) where c.kind = 'turn'
  except select c.owner_id, c.session, c.seq from c where c.kind = 'turn'
), x as (
  select true as wanted, c.* from c
  union all
  select false, s.* from around w, lateral (select s.* from search_docs s where s.workspace_id = ws and s.kind = 'turn' and s.owner_id = w.owner_id and s.seq = w.seq and s.session = w.session and s.status = 'active' limit 1) s
)
select x.doc, x.wanted, x.kind, x.owner_id, x.seq, x.session, x.type, x.target, x.target_terms, x.asks, x.dated, x.event_time, x.conversation_id,
  coalesce((select k.eta from skills k where x.kind = 'skill' and k.workspace_id = ws and k.id = x.owner_id), 0.5)::float8,
  (select l.sv from lex_docs l where l.workspace_id = ws and l.doc = x.doc)
from x;
end $$;
-- +goose StatementEnd

-- BM25 by the words of documents and exact vector distance, fused by reciprocal rank. Callers join the
-- rows of the documents, so that a search is one round trip. It ranks within one kind of document: words that
-- only other kinds contain do not lower the score. Conversations of any length do not slow down the
-- ranking of a workspace's few memories, because only their own vectors are fetched; many documents
-- are cheaper to hash. It is planned once per connection.
-- +goose StatementBegin
create function cairn.rank_docs(ws bigint, doc_kind text, doc_states text[], query_terms int[], query_vector halfvec, query_space smallint, max_rows int)
returns table (doc bigint, owner_id bigint, lexical float8, hits int, terms int, cosine float8, score float8)
language plpgsql stable security invoker rows 100 set search_path = cairn, public, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = on set enable_nestloop = off set enable_mergejoin = off set jit = off as $rank$
#variable_conflict use_column
declare
  mine bigint[] := array(select s.doc from search_docs s where s.workspace_id = ws and s.kind = doc_kind and s.status = any(doc_states));
  total int := coalesce((select docs from lex_stats where workspace_id = ws), 0);
  nearest bigint[];
  distances float8[];
begin
  if cardinality(mine) = 0 then
    return;
  elsif cardinality(mine) <= 500 then
    select array_agg(o.doc order by o.dist, o.doc), array_agg(o.dist order by o.dist, o.doc) into nearest, distances from (
      select e.doc, (e.v <=> query_vector) + 0 as dist from embeddings e where e.workspace_id = ws and e.space = query_space and e.doc = any(mine) order by dist, e.doc limit 100) o;
  else
    select array_agg(o.doc order by o.dist, o.doc), array_agg(o.dist order by o.dist, o.doc) into nearest, distances from (
      select e.doc, (e.v <=> query_vector) + 0 as dist from embeddings e join unnest(mine) k(doc) on k.doc = e.doc where e.workspace_id = ws and e.space = query_space order by dist, e.doc limit 100) o;
  end if;
  return query
with q as materialized (
  select t.term, ws << 32 | t.term as key, t.df, ln(1 + (total - t.df + 0.5) / (t.df + 0.5)) as idf
  from lex_terms t where t.workspace_id = ws and t.term = any(query_terms) and t.df > 0
), v as materialized (                                  -- the query; a sparse vector counts from 1, in ascending order
  select ('{' || string_agg((k.term + 1) || ':' || k.idf::real, ',' order by k.term) || '}/1000000000')::sparsevec as sv, array_agg(k.key) as keys from q k
), m as materialized (
  select x.doc, -(x.sv <#> v.sv) as score, array(select unnest(x.keys) intersect select unnest(v.keys)) as held
  from v, unnest(mine) s(doc) join lex_docs x on x.workspace_id = ws and x.doc = s.doc
  where v.sv is not null and x.keys && v.keys
), l as materialized (
  select m.doc, m.score, cardinality(m.held)::bigint as hits, row_number() over (order by m.score desc, m.doc) as r
  from m order by m.score desc, m.doc limit 100
), d as materialized (
  select o.doc, 1 - o.dist as cosine, o.r from unnest(nearest, distances) with ordinality o(doc, dist, r)
), o as materialized (
  select coalesce(l.doc, d.doc) as doc, coalesce(l.score, 0)::float8 as lexical, coalesce(l.hits, 0)::int as hits, coalesce(d.cosine, 0)::float8 as cosine,
    (coalesce(1.0 / (60 + l.r), 0) + coalesce(1.0 / (60 + d.r), 0))::float8 as score
  from l full join d on d.doc = l.doc
)
select s.doc, s.owner_id, o.lexical, o.hits, (select count(distinct k) from m, unnest(m.held) k)::int as terms, o.cosine, o.score
from o join search_docs s on s.doc = o.doc where s.workspace_id = ws and s.doc = any(array(select doc from o))
order by o.score desc, s.doc limit max_rows;
end $rank$;
-- +goose StatementEnd
