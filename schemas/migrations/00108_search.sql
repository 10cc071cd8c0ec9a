-- +goose Up
-- Search: one table of all searchable documents, postings for BM25, vectors by embedding space. One
-- statement ranks messages, memories and skills together.

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
  -- the terms of this document's postings, sorted; a re-index removes them
  terms           int[] not null,
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
  docs         int not null
);

create table lex_terms (
  workspace_id bigint not null references workspaces,
  term         int not null,                            -- 32-bit hash of the token
  df           int not null,
  -- Turns whose speaker's name contains this word. As a word it is little evidence, as the
  -- speaker's name it is strong evidence.
  speakers     int not null default 0,
  primary key (workspace_id, term)
);

-- w is the term-frequency half of BM25 with a fixed pivot instead of the moving average length, so
-- that rows never need rewriting.
create table lex_postings (
  workspace_id bigint not null references workspaces,
  term         int not null,
  doc          bigint not null,
  w            real not null,
  primary key (workspace_id, term, doc) include (w)
);

-- A model of embeddings with its dimension. All workspaces share the spaces.
create table embedding_spaces (
  id    smallint primary key,
  model text not null,
  dims  int not null check (dims between 1 and 4000),
  state text not null default 'active' check (state in ('building', 'active', 'retired')),
  unique (model, dims)
);

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

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['search_docs', 'lex_stats', 'lex_terms', 'lex_postings', 'embeddings'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert, update, delete on search_docs, lex_stats, lex_terms, lex_postings, embeddings to cairn_app;

-- The process that maintains graphs sees which workspaces are big, and nothing else of them.
create policy lex_stats_system on lex_stats for select to cairn_system using (docs >= 10000);
grant select on lex_stats to cairn_system;

alter table embedding_spaces enable row level security;
alter table embedding_spaces force row level security;
create policy embedding_spaces_all on embedding_spaces using (true) with check (true);
grant select on embedding_spaces to cairn_app, cairn_system;

-- A space is created when a model is deployed. Nothing is granted on the partition itself: a policy
-- on the parent does not protect a child that is read directly.
-- +goose StatementBegin
create function cairn.open_space(space_model text, space_dims int) returns smallint
language plpgsql volatile security definer set search_path = cairn, public, pg_catalog, pg_temp as $$
declare s smallint; t text;
begin
  select id into s from embedding_spaces where model = space_model and dims = space_dims;
  if s is not null then return s; end if;
  perform pg_advisory_xact_lock(2, 0);
  select id into s from embedding_spaces where model = space_model and dims = space_dims;
  if s is not null then return s; end if;
  select coalesce(max(id), 0) + 1 into s from embedding_spaces;
  insert into embedding_spaces (id, model, dims) values (s, space_model, space_dims);
  t := 'embeddings_space_' || s;
  execute format('create table %I partition of embeddings (check (vector_dims(v) = %s)) for values in (%s)', t, space_dims, s);
  execute format('alter table %I enable row level security', t);
  execute format('alter table %I force row level security', t);
  execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  return s;
end $$;
-- +goose StatementEnd
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
-- any index for the order. find_docs disables sorting, and under it this would be planned without
-- the processes that sort their share, hence enable_sort.
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

-- find_docs ranks the documents of a workspace.
--
-- Ranking: BM25 with the workspace's own frequencies ranks by words. A turn is scored together with
-- the two turns on either side in its period of activity. Vectors give a second rank, and both are
-- fused by rank. Added to that are: the score of the whole period of activity, whether a named
-- person speaks, whether a named day matches, and small bonuses for recency and usefulness. A
-- question rarely contains the answer, and the message after it often does.
--
-- Results: a query has results only if some document or some period of activity contains enough of
-- the evidence of its words, or some vector is near. The words of a date are not required in the
-- text.
--
-- Plan: planning takes longer than running, so it is planned once. One plan is right for every
-- workspace, and for a table without statistics. Rows are fetched by arrays of their keys, never by
-- reading a table of all workspaces. Everything else is hashed. Starting a statement of this length
-- takes as long as ranking a thousand memories, so workspaces without turns use a shorter one.
--
-- Postgres fills a page from its end. Reading the index backward therefore visits vectors at
-- ascending addresses, which processors prefetch. That takes a third less time over vectors that
-- are in no cache. Without turns, the rank by words is computed in the same window that selects the
-- best. Filtered searches have their own statement, so that unfiltered ones do not start it.
--
-- Sums are hashed, never sorted first. That takes less time and adds the words of every document in
-- the same order. Documents with the same words thus have the same sum and are ordered by number.
-- +goose StatementBegin
create function cairn.find_docs(ws bigint, query_terms int[], query_vector halfvec, query_space smallint, vector_share float8, min_cosine float8,
  kinds text[], types text[], targets text[], since timestamptz, until timestamptz, within text,
  query_year int, query_month int, query_day int, asks_when boolean, max_rows int)
returns table (doc bigint, score float8, lexical float8, covered float8, cosine float8)
language plpgsql stable security invoker rows 20 set search_path = cairn, public, pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_nestloop = off set enable_mergejoin = off set enable_sort = off set jit = off as $find$
#variable_conflict use_column
declare
  worded constant int := least(120, greatest(60, 6 * max_rows)); -- candidates by words
  nearby constant int := worded / 2;                    -- and by vector
  filtered boolean := cardinality(kinds) > 0 or cardinality(types) > 0 or cardinality(targets) > 0 or since is not null or until is not null or within <> '';
  conversation bigint;
  talk boolean; total int;
  nearest bigint[]; distances float8[]; wanted bigint[];
  kept int[]; idfs float8[]; tells float8[]; said float8;
begin
  select coalesce((select docs from lex_stats where workspace_id = ws), 0), exists (select from search_docs s where s.workspace_id = ws and s.kind = 'turn') into total, talk;
  talk := talk and (cardinality(kinds) = 0 or 'turn' = any(kinds));
  if within <> '' then
    conversation := coalesce((select c.id from conversations c where c.workspace_id = ws and c.external_id = within), 0);
  end if;
  if query_space < 0 then
    nearest := '{}'; distances := '{}';
  elsif filtered then                                   -- all wanted documents, exactly
    select array_agg(o.doc order by o.dist, o.doc), array_agg(o.dist order by o.dist, o.doc) into nearest, distances from (
      select e.doc, (e.v <=> query_vector) + 0 as dist from embeddings e join search_docs s on s.doc = e.doc
      where e.workspace_id = ws and e.space = query_space and s.workspace_id = ws and s.status = 'active'
        and (cardinality(kinds) = 0 or s.kind = any(kinds)) and (cardinality(types) = 0 or s.type = any(types)) and (cardinality(targets) = 0 or s.target = any(targets))
        and (since is null or s.event_time >= since) and (until is null or s.event_time < until) and (within = '' or s.conversation_id = conversation)
      order by dist limit nearby) o;
  elsif total >= cairn.many_documents() and coalesce((select i.indisvalid from pg_index i where i.indexrelid = to_regclass(cairn.vector_index(ws, query_space))), false) then
    select array_agg(o.doc order by o.dist, o.doc), array_agg(o.dist order by o.dist, o.doc) into nearest, distances from cairn.nearest_in_graph(ws, query_vector, query_space, nearby) o;
  elsif total >= cairn.many_documents() then
    select array_agg(o.doc order by o.dist, o.doc), array_agg(o.dist order by o.dist, o.doc) into nearest, distances from cairn.nearest_of_many(ws, query_vector, query_space, nearby) o;
  -- backward: the vectors of a page are then read at ascending addresses
  else
    select array_agg(o.doc), array_agg(o.dist) into nearest, distances from (
      select b.doc, b.dist from (
        select e.doc, (e.v <=> query_vector) + 0 as dist from embeddings e where e.workspace_id = ws and e.space = query_space order by e.doc desc offset 0) b order by b.dist, b.doc limit nearby) o;
  end if;

  nearest := coalesce(nearest, '{}');
  -- The rarest word stays, and others as long as not too many documents contain them: the omitted
  -- ones are the weakest evidence.
  select coalesce(sum(w.idf) filter (where not w.name and (w.df > 0 or query_month = 0)), 0),
    array_agg(w.term) filter (where w.stays), array_agg(w.idf * case when w.name then 0.3 else 1 end) filter (where w.stays),
    array_agg(case when w.name then 0 else w.idf end) filter (where w.stays) into said, kept, idfs, tells
  from (
    select q.*, q.df > 0 and (sum(q.df) over rarer <= 1000 + least(total / 20, 5000) or row_number() over rarer = 1) as stays from (
      select t.term, coalesce(x.df, 0) as df, coalesce(x.speakers, 0) > 0 as name, ln(1 + (total - coalesce(x.df, 0) + 0.5::float8) / (coalesce(x.df, 0) + 0.5::float8)) as idf
      from unnest(query_terms) t(term) left join (select term, df, speakers from lex_terms where workspace_id = ws and term = any(query_terms)) x on x.term = t.term) q
    window rarer as (order by q.df = 0, q.df, q.term)) w;

  if not talk then
    if filtered then
      wanted := array(select s.doc from search_docs s where s.workspace_id = ws and s.doc = any(array(select p.doc from lex_postings p where p.workspace_id = ws and p.term = any(kept))) and s.status = 'active'
        and (cardinality(kinds) = 0 or s.kind = any(kinds)) and (cardinality(types) = 0 or s.type = any(types)) and (cardinality(targets) = 0 or s.target = any(targets))
        and (since is null or s.event_time >= since) and (until is null or s.event_time < until) and (within = '' or s.conversation_id = conversation));
    end if;
    return query
with a as (
  select o.doc, sum(o.own) as own, sum(o.tells) as covered, max(o.dist) as dist, min(o.r) as r from (
    select p.doc, p.w * k.idf as own, k.tells, null::float8 as dist, null::bigint as r
    from unnest(kept, idfs, tells) k(term, idf, tells) cross join lateral (select p.doc, p.w from lex_postings p where p.workspace_id = ws and p.term = k.term offset 0) p
    union all select d.doc, 0, 0, d.dist, d.r from unnest(nearest, distances) with ordinality d(doc, dist, r)) o
  group by o.doc
), l as materialized (                                  -- the nearest, and the best of the others by words
  select a.* from a where not filtered or a.r is not null or a.doc in (select unnest(wanted))
  order by a.r is null, a.own desc, a.doc limit worded + cardinality(nearest)
), c as (                                               -- the rank by words among the documents that qualify
  select s.doc, s.kind, s.owner_id, s.target_terms, s.asks, s.dated, s.event_time, l.own, l.covered, coalesce(1 - l.dist, 0) as cosine, coalesce(31.0::float8 / (30 + l.r), 0) as near,
    first_value(l.own) over words as peak, count(*) filter (where l.own > 0 and l.covered >= 0.15 * said or coalesce(1 - l.dist, 0) >= min_cosine) over words as place
  from search_docs s join l on l.doc = s.doc where s.workspace_id = ws and s.doc = any(array(select doc from l)) and s.status = 'active'
  window words as (order by l.own desc, s.doc rows unbounded preceding)
)
select s.doc, case when s.own > 0 then 31.0::float8 / (30 + s.place) + 0.7 * s.own / s.peak else 0 end
    + vector_share * s.near
    + case when s.target_terms && query_terms then 0.4 else 0 end
    + case when query_month > 0 and query_month = date_part('month', s.event_time) and query_year in (0, date_part('year', s.event_time)) then case when query_day = date_part('day', s.event_time) then 0.8 else 0.4 end else 0 end
    + case when asks_when and s.dated then 0.3 else 0 end - case when s.asks then 0.1 else 0 end
    + coalesce(0.05 * exp(-greatest(0, date_part('epoch', now() - s.event_time)) / 2592000), 0)
    + coalesce((select 0.1 * (k.eta - 0.5) from skills k where s.kind = 'skill' and k.workspace_id = ws and k.id = s.owner_id), 0) as score,
  s.own, s.covered / nullif(said, 0), s.cosine
from c s
where s.own > 0 and s.covered >= 0.15 * said or s.cosine >= min_cosine
order by score desc, s.doc limit max_rows;
    return;
  end if;
  return query
with p as materialized (
  select p.doc, p.term, p.w, k.idf, k.tells
  from lex_postings p join unnest(kept, idfs, tells) k(term, idf, tells) on k.term = p.term where p.workspace_id = ws and p.term = any(kept)
), a as materialized (
  select doc, sum(w * idf) as own, sum(tells) as covered from p group by doc
), l as (
  select a.doc from a where not filtered or a.doc in (
    select s.doc from search_docs s where s.workspace_id = ws and s.doc = any(array(select doc from a)) and s.status = 'active'
      and (cardinality(kinds) = 0 or s.kind = any(kinds)) and (cardinality(types) = 0 or s.type = any(types)) and (cardinality(targets) = 0 or s.target = any(targets))
      and (since is null or s.event_time >= since) and (until is null or s.event_time < until) and (within = '' or s.conversation_id = conversation))
  order by a.own desc, a.doc limit worded
), c as materialized (
  select s.doc, s.kind, s.owner_id, s.seq, s.session, s.type, s.target, s.target_terms, s.asks, s.dated, s.event_time, s.conversation_id
  from search_docs s where s.workspace_id = ws and s.doc = any(array(select doc from l union select unnest(nearest))) and s.status = 'active'
), around as (                                          -- positions of the turns around the candidates
  select c.owner_id, c.session, c.seq + o.by as seq from c, unnest(array[-2, -1, 1, 2]) o(by) where c.kind = 'turn'
  except select c.owner_id, c.session, c.seq from c where c.kind = 'turn'
), x as (
  select * from c
  union all
  select s.* from around w, lateral (select s.doc, s.kind, s.owner_id, s.seq, s.session, s.type, s.target, s.target_terms, s.asks, s.dated, s.event_time, s.conversation_id
    from search_docs s where s.workspace_id = ws and s.kind = 'turn' and s.owner_id = w.owner_id and s.seq = w.seq and s.session = w.session limit 1) s
), e as materialized (
  select x.*, coalesce(a.own, 0) as own, coalesce(a.covered, 0) as covered, coalesce(1 - d.dist, 0) as cosine, coalesce(31.0::float8 / (30 + d.r), 0) as near
  from x left join a on a.doc = x.doc left join unnest(nearest, distances) with ordinality d(doc, dist, r) on d.doc = x.doc
), t as materialized (
  select e.owner_id, e.session, p.term, sum(p.w) as w, min(p.tells) as tells, count(*) over (partition by p.term) as held from e join p on p.doc = e.doc where e.kind = 'turn' group by 1, 2, 3
), sittings as materialized (
  select count(*) as n from (select distinct owner_id, session from t) o
), fits as materialized (
  select t.owner_id, t.session, sum(ln(1 + (n.n - t.held + 0.5::float8) / (t.held + 0.5::float8)) * t.w / (t.w + 1.2)) as s, sum(t.tells) as covered from t cross join sittings n group by 1, 2
), peak as materialized (
  select coalesce(max(e.covered), 0) as best, coalesce(max(e.cosine), 0) as closest, max(e.own) as own from e
), height as materialized (
  select coalesce(max(fits.covered), 0) as discussed, max(fits.s) as s from fits
), lent as (                                            -- scores that turns add to their neighbors, and to themselves
  select e.owner_id, e.session, e.seq + o.by as seq, sum(e.own * case when o.by = 1 and e.asks then 0.7 else o.share end) as words
  from e, unnest(array[0, -1, 1, -2, 2], array[1, 0.4, 0.3, 0.2, 0.2]::float8[]) o(by, share) where e.kind = 'turn' and e.own > 0 group by 1, 2, 3
), f as (
  select e.*, coalesce(lent.words, 0) as words, coalesce(fits.s / nullif(height.s, 0), 0) as fit
  from e cross join height left join fits on fits.owner_id = e.owner_id and fits.session = e.session
    left join lent on lent.owner_id = e.owner_id and lent.session = e.session and lent.seq = e.seq where e.kind = 'turn'
  union all                                             -- single documents have no neighbors
  select e.*, 2.1 * e.own, e.own / nullif(peak.own, 0) from e cross join peak where e.kind <> 'turn'
)
select s.doc, case when s.words > 0 then 31.0::float8 / (30 + row_number() over (order by s.words desc, s.doc)) else 0 end
    + vector_share * s.near + 0.7 * coalesce(s.fit, 0)
    + case when s.target_terms && query_terms then 0.4 else 0 end
    + case when query_month > 0 and query_month = date_part('month', s.event_time) and query_year in (0, date_part('year', s.event_time)) then case when query_day = date_part('day', s.event_time) then 0.8 else 0.4 end else 0 end
    + case when asks_when and s.dated then 0.3 else 0 end - case when s.asks then 0.1 else 0 end
    + coalesce(0.05 * exp(-greatest(0, date_part('epoch', now() - s.event_time)) / 2592000), 0)
    + coalesce((select 0.1 * (k.eta - 0.5) from skills k where s.kind = 'skill' and k.workspace_id = ws and k.id = s.owner_id), 0) as score,
  s.own, s.covered / nullif(said, 0), s.cosine
from f s cross join peak cross join height
where (peak.best >= 0.15 * said or height.discussed >= 0.3 * said or peak.closest >= min_cosine)
  and (s.kind = 'turn' and s.words > 0 or s.own > 0 and s.covered >= 0.15 * said or s.cosine >= min_cosine)
  and (cardinality(kinds) = 0 or s.kind = any(kinds)) and (cardinality(types) = 0 or s.type = any(types)) and (cardinality(targets) = 0 or s.target = any(targets))
  and (since is null or s.event_time >= since) and (until is null or s.event_time < until) and (within = '' or s.conversation_id = conversation)
order by score desc, s.doc limit max_rows;
end $find$;
-- +goose StatementEnd

-- find is find_docs with the displayed columns of each document, preceded by those that the query
-- names exactly: a skill, a memory's ID, or a turn by its conversation and number. Found documents
-- are fetched by number, one row each: joining an array of the numbers again takes longer.
-- +goose StatementBegin
create function cairn.find(ws bigint, query_terms int[], query_vector halfvec, query_space smallint, vector_share float8, min_cosine float8,
  kinds text[], types text[], targets text[], since timestamptz, until timestamptz, within text,
  query_year int, query_month int, query_day int, asks_when boolean, max_rows int, skill_name text, memory_id text, turn_conversation text, turn_seq int)
returns table (named boolean, kind text, owner_id bigint, seq int, text text, type text, target text, event_time timestamptz, score float8, lexical float8, covered float8, cosine float8,
  conversation text, name text, from_seq int, to_seq int)
language plpgsql stable security invoker rows 20 set search_path = cairn, public, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $find$
#variable_conflict use_column
declare
  exact bigint[] := '{}';                               -- at most three
  owner bigint;
begin
  owner := (select s.id from skills s where s.workspace_id = ws and s.name = skill_name);
  if owner is not null then
    exact := exact || (select e.doc from search_docs e where e.workspace_id = ws and e.kind = 'skill' and e.owner_id = owner and e.seq = 0 and e.status = 'active');
  end if;
  owner := (select m.id from memories m where m.workspace_id = ws and m.external_id = memory_id);
  if owner is not null then
    exact := exact || (select e.doc from search_docs e where e.workspace_id = ws and e.kind = 'memory' and e.owner_id = owner and e.seq = 0 and e.status = 'active');
  end if;
  if turn_seq >= 0 then
    exact := exact || (select e.doc from search_docs e join conversations c on c.id = e.owner_id
      where e.workspace_id = ws and e.kind = 'turn' and e.seq = turn_seq and c.workspace_id = ws and c.external_id = turn_conversation);
  end if;
  exact := array_remove(exact, null);                   -- named but not found
  return query
  select r.named, d.kind, d.owner_id, d.seq, d.text, d.type, d.target, d.event_time, r.score, r.lexical, r.covered, r.cosine,
    coalesce((select c.external_id from conversations c where c.workspace_id = ws and c.id = d.conversation_id), ''),
    coalesce(m.external_id, (select k.name from skills k where d.kind = 'skill' and k.workspace_id = ws and k.id = d.owner_id), ''),
    coalesce(m.from_seq, d.seq), coalesce(m.to_seq, d.seq)
  from (
    select e.doc is not null as named, coalesce(f.doc, e.doc) as doc, coalesce(f.score, 0) as score, coalesce(f.lexical, 0) as lexical, coalesce(f.covered, 0) as covered, coalesce(f.cosine, 0) as cosine
    from cairn.find_docs(ws, query_terms, query_vector, query_space, vector_share, min_cosine, kinds, types, targets, since, until, within, query_year, query_month, query_day, asks_when, max_rows) f
    full join unnest(exact) e(doc) on e.doc = f.doc offset 0) r
  cross join lateral (select s.kind, s.owner_id, s.seq, s.text, s.type, s.target, s.event_time, s.conversation_id from search_docs s where s.workspace_id = ws and s.doc = r.doc offset 0) d
  left join lateral (select o.external_id, o.from_seq, o.to_seq from memories o where d.kind = 'memory' and o.workspace_id = ws and o.id = d.owner_id limit 1) m on true
  where (cardinality(kinds) = 0 or d.kind = any(kinds)) and (cardinality(types) = 0 or d.type = any(types));
end $find$;
-- +goose StatementEnd

-- BM25 over postings and exact vector distance, fused by reciprocal rank. A query term that a tenth
-- of the documents contain is ignored, unless all terms are such. Callers join the rows of the
-- documents, so that a search is one round trip. It ranks within one kind of document: words that
-- only other kinds contain do not lower the score. Conversations of any length do not slow down the
-- ranking of a workspace's few memories, because only their own vectors are fetched; many documents
-- are cheaper to hash. It is planned once per connection, like find_docs and for the same reasons.
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
  select t.term, t.df, ln(1 + (total - t.df + 0.5) / (t.df + 0.5)) as idf
  from lex_terms t where t.workspace_id = ws and t.term = any(query_terms) and t.df > 0
), keep as materialized (
  select q.* from q where q.df <= greatest(50, total / 10) or not exists (select from q q2 where q2.df <= total / 10)
), m as materialized (
  select p.doc, k.term, p.w * k.idf as s
  from lex_postings p join keep k on k.term = p.term join unnest(mine) s(doc) on s.doc = p.doc
  where p.workspace_id = ws and p.term = any(array(select term from keep))
), l as materialized (
  select m.doc, sum(m.s) as score, count(*) as hits, row_number() over (order by sum(m.s) desc, m.doc) as r
  from m group by m.doc order by score desc, m.doc limit 100
), d as materialized (
  select o.doc, 1 - o.dist as cosine, o.r from unnest(nearest, distances) with ordinality o(doc, dist, r)
), o as materialized (
  select coalesce(l.doc, d.doc) as doc, coalesce(l.score, 0)::float8 as lexical, coalesce(l.hits, 0)::int as hits, coalesce(d.cosine, 0)::float8 as cosine,
    (coalesce(1.0 / (60 + l.r), 0) + coalesce(1.0 / (60 + d.r), 0))::float8 as score
  from l full join d on d.doc = l.doc
)
select s.doc, s.owner_id, o.lexical, o.hits, (select count(distinct m.term) from m)::int as terms, o.cosine, o.score
from o join search_docs s on s.doc = o.doc where s.workspace_id = ws and s.doc = any(array(select doc from o))
order by o.score desc, s.doc limit max_rows;
end $rank$;
-- +goose StatementEnd
