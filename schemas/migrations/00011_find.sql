-- +goose Up
-- Retrieval: what was said becomes findable beside what is remembered and what
-- is known how to do, and one statement ranks all of it.

alter table search_docs drop constraint search_docs_kind_check;
alter table search_docs add constraint search_docs_kind_check check (kind in ('skill', 'memory', 'turn'));

-- A turn is a message of a user or an assistant: owner_id is its conversation,
-- seq its place there. All other documents have seq 0.
update search_docs set seq = 0 where seq is null;
alter table search_docs alter column seq set default 0, alter column seq set not null;
alter table search_docs drop constraint search_docs_workspace_id_kind_owner_id_key;
alter table search_docs add unique (workspace_id, kind, owner_id, seq);
alter table search_docs
  add column session       int not null default 0,        -- of a turn: the seq that its sitting began with
  add column type          text not null default '',      -- of a memory
  add column target        text not null default '',      -- of a memory: whom it is about; of a turn: who speaks
  add column target_terms  int[] not null default '{}',   -- the words of target, hashed as a query's are
  add column asks          boolean not null default false, -- ends with a question
  add column dated         boolean not null default false; -- has words of time
update search_docs d set type = m.type, target = m.target from memories m where d.kind = 'memory' and m.workspace_id = d.workspace_id and m.id = d.owner_id;

-- Turns whose speaker has this word in the name: as a word it tells little, as
-- the speaker's name much.
alter table lex_terms add column speakers int not null default 0;

-- The name of a workspace's own graph over its vectors. Few workspaces are big
-- enough to need one (tens of thousands of documents); it holds nobody else's
-- rows, so no scan of it comes back short.
create function cairn.vector_index(ws bigint, space smallint) returns text
language sql immutable as $$ select format('embeddings_space_%s_graph_%s', space, ws) $$;

-- What makes that graph. Whoever deploys runs it as the owner of the tables,
-- outside of a transaction: it keeps no writer waiting.
create function cairn.vector_index_statement(ws bigint, space smallint) returns text
language sql stable security invoker set search_path = cairn, public, pg_catalog, pg_temp as $$
  select format('create index concurrently if not exists %I on embeddings_space_%s using hnsw ((v::halfvec(%s)) halfvec_cosine_ops) with (m = 16, ef_construction = 64) where workspace_id = %s',
    cairn.vector_index(ws, space), space, s.dims, ws)
  from embedding_spaces s where s.id = space
$$;

-- find_docs ranks the documents of a workspace. Words first: BM25 with the
-- workspace's own frequencies, of a turn together with the two turns on either
-- side of it in its sitting; then vectors; both by rank. To that it adds how well
-- the whole sitting fits, whether who is named speaks, whether the day that is
-- named is the day, and small nudges for what is recent and what has proved
-- useful. A question is seldom what answers, and what follows it often is. A query
-- is answered at all when some document holds enough of what its words tell, or
-- some sitting does, or some vector is near; the words of a date that nobody said
-- are not missed.
-- To plan all this takes longer than to run it, so it is planned once. One plan
-- is right for every workspace, and for a table without statistics, because rows
-- are fetched by arrays of their keys and all else is hashed.
-- +goose StatementBegin
create function cairn.find_docs(ws bigint, query_terms int[], query_vector halfvec, query_space smallint, vector_share float8, min_cosine float8,
  kinds text[], types text[], targets text[], since timestamptz, until timestamptz, within text,
  query_year int, query_month int, query_day int, asks_when boolean, max_rows int)
returns table (doc bigint, score float8, lexical float8, covered float8, cosine float8)
language plpgsql stable security invoker rows 20 set search_path = cairn, public, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_mergejoin = off set jit = off as $find$
#variable_conflict use_column
declare
  filtered boolean := cardinality(kinds) > 0 or cardinality(types) > 0 or cardinality(targets) > 0 or since is not null or until is not null or within <> '';
  conversation bigint := case when within <> '' then coalesce((select c.id from conversations c where c.workspace_id = ws and c.external_id = within), 0) end;
  nearest bigint[];
  distances float8[];
begin
  if query_space < 0 then
    nearest := '{}'; distances := '{}';
  elsif filtered then                                   -- all that is wanted, exactly
    select array_agg(o.doc order by o.dist, o.doc), array_agg(o.dist order by o.dist, o.doc) into nearest, distances from (
      select e.doc, (e.v <=> query_vector) + 0 as dist from embeddings e join search_docs s on s.doc = e.doc
      where e.workspace_id = ws and e.space = query_space and s.workspace_id = ws and s.status = 'active'
        and (cardinality(kinds) = 0 or s.kind = any(kinds)) and (cardinality(types) = 0 or s.type = any(types)) and (cardinality(targets) = 0 or s.target = any(targets))
        and (since is null or s.event_time >= since) and (until is null or s.event_time < until) and (within = '' or s.conversation_id = conversation)
      order by dist limit 60) o;
  elsif coalesce((select i.indisvalid from pg_index i where i.indexrelid = to_regclass(cairn.vector_index(ws, query_space))), false) then
    perform set_config('hnsw.ef_search', '200', true), set_config('hnsw.iterative_scan', 'relaxed_order', true);
    execute format('select array_agg(o.doc order by o.dist, o.doc), array_agg(o.dist order by o.dist, o.doc) from (
      select e.doc, e.v::halfvec(%1$s) <=> $1 as dist from embeddings e where e.workspace_id = %2$s and e.space = %3$s order by e.v::halfvec(%1$s) <=> $1 limit 60) o',
      (select dims from embedding_spaces where id = query_space), ws, query_space) into nearest, distances using query_vector;
  else                                                  -- the zero keeps the order from every index: this is exact
    select array_agg(o.doc order by o.dist, o.doc), array_agg(o.dist order by o.dist, o.doc) into nearest, distances from (
      select e.doc, (e.v <=> query_vector) + 0 as dist from embeddings e where e.workspace_id = ws and e.space = query_space order by dist limit 60) o;
  end if;
  return query
with n as materialized (
  select coalesce((select docs from lex_stats where workspace_id = ws), 0)::float8 as docs
), q as materialized (
  select t.term, coalesce(x.df, 0) as df, coalesce(x.speakers, 0) > 0 as name, ln(1 + (n.docs - coalesce(x.df, 0) + 0.5) / (coalesce(x.df, 0) + 0.5)) as idf
  from unnest(query_terms) t(term) cross join n left join (select term, df, speakers from lex_terms where workspace_id = ws and term = any(query_terms)) x on x.term = t.term
), said as materialized (
  select coalesce(sum(idf) filter (where not name and (df > 0 or query_month = 0)), 0) as s, coalesce(min(df) filter (where df > 0), 0) as rarest from q
), keep as materialized (                               -- a word of every tenth document, or of thousands, tells little; the rarest stays
  select q.term, q.name, q.idf * case when q.name then 0.3 else 1 end as idf from q, n, said
  where q.df > 0 and q.df <= greatest(500, least(n.docs / 10, 2000), said.rarest)
), p as materialized (
  select p.doc, p.term, p.w * k.idf as s, k.idf, k.name
  from lex_postings p join keep k on k.term = p.term where p.workspace_id = ws and p.term = any(array(select term from keep))
), a as materialized (
  select doc, sum(s) as s, coalesce(sum(idf) filter (where not name), 0) as covered from p group by doc
), l as (
  select a.doc from a where not filtered or a.doc in (
    select s.doc from search_docs s where s.workspace_id = ws and s.doc = any(array(select doc from a)) and s.status = 'active'
      and (cardinality(kinds) = 0 or s.kind = any(kinds)) and (cardinality(types) = 0 or s.type = any(types)) and (cardinality(targets) = 0 or s.target = any(targets))
      and (since is null or s.event_time >= since) and (until is null or s.event_time < until) and (within = '' or s.conversation_id = conversation))
  order by a.s desc, a.doc limit 120
), d as materialized (
  select o.doc, 1 - o.dist as cosine, o.r from unnest(nearest, distances) with ordinality o(doc, dist, r)
), c as materialized (
  select s.doc, s.kind, s.owner_id, s.seq, s.session, s.type, s.target, s.target_terms, s.asks, s.dated, s.event_time, s.conversation_id
  from search_docs s where s.workspace_id = ws and s.doc = any(array(select doc from l union select doc from d)) and s.status = 'active'
), near as (                                            -- the turns around the candidates
  select (select s.doc from search_docs s where s.workspace_id = ws and s.kind = 'turn' and s.owner_id = w.owner_id and s.seq = w.seq and s.session = w.session) as doc
  from (select distinct c.owner_id, c.session, c.seq + o.by as seq from c, (values (-2), (-1), (1), (2)) o(by) where c.kind = 'turn') w
), x as materialized (
  select * from c
  union all
  select s.doc, s.kind, s.owner_id, s.seq, s.session, s.type, s.target, s.target_terms, s.asks, s.dated, s.event_time, s.conversation_id
  from search_docs s where s.workspace_id = ws and s.doc = any(array(select doc from near except select doc from c))
), e as materialized (
  select x.*, coalesce(a.s, 0) as own, coalesce(a.covered, 0) as covered, coalesce(d.cosine, 0) as cosine, coalesce(31.0::float8 / (30 + d.r), 0) as near
  from x left join a on a.doc = x.doc left join d on d.doc = x.doc
), t as materialized (
  select e.owner_id, e.session, p.term, sum(p.s) / min(p.idf) as w, coalesce(min(p.idf) filter (where not p.name), 0) as idf from e join p on p.doc = e.doc where e.kind = 'turn' group by 1, 2, 3
), sittings as materialized (
  select count(*) as n from (select distinct owner_id, session from t) o
), rarity as materialized (
  select t.term, ln(1 + (min(sittings.n) - count(*) + 0.5) / (count(*) + 0.5)) as idf from t cross join sittings group by t.term
), fits as materialized (
  select owner_id, session, sum(rarity.idf * t.w / (t.w + 1.2)) as s, sum(t.idf) as covered from t join rarity using (term) group by 1, 2
), peak as materialized (
  select coalesce(max(e.covered), 0) as best, coalesce(max(e.cosine), 0) as closest, max(e.own) as own from e
), height as materialized (
  select coalesce(max(fits.covered), 0) as discussed, max(fits.s) as s from fits
), f as (
  select e.*, e.own + 0.4 * coalesce(sum(e.own) over next, 0) + case when bool_or(e.asks) over prev then 0.7 else 0.3 end * coalesce(sum(e.own) over prev, 0)
      + 0.2 * (sum(e.own) over two - sum(e.own) over one) as words,
    coalesce(fits.s / nullif(height.s, 0), 0) as fit
  from e cross join height left join fits on fits.owner_id = e.owner_id and fits.session = e.session
  where e.kind = 'turn'
  window prev as (partition by e.owner_id, e.session order by e.seq range between 1 preceding and 1 preceding),
    next as (partition by e.owner_id, e.session order by e.seq range between 1 following and 1 following),
    one as (partition by e.owner_id, e.session order by e.seq range between 1 preceding and 1 following),
    two as (partition by e.owner_id, e.session order by e.seq range between 2 preceding and 2 following)
  union all                                             -- what stands alone has no neighbours to be helped by
  select e.*, 2.1 * e.own, e.own / nullif(peak.own, 0) from e cross join peak where e.kind <> 'turn'
)
select s.doc, case when s.words > 0 then 31.0::float8 / (30 + row_number() over (order by s.words desc, s.doc)) else 0 end
    + vector_share * s.near + 0.7 * coalesce(s.fit, 0)
    + case when s.target_terms && query_terms then 0.4 else 0 end
    + case when query_month = extract(month from s.event_time) and query_year in (0, extract(year from s.event_time)) then case when query_day = extract(day from s.event_time) then 0.8 else 0.4 end else 0 end
    + case when asks_when and s.dated then 0.3 else 0 end - case when s.asks then 0.1 else 0 end
    + coalesce(0.05 * exp(-greatest(0, extract(epoch from now() - s.event_time)::float8) / 2592000), 0)
    + coalesce((select 0.1 * (k.eta - 0.5) from skills k where s.kind = 'skill' and k.workspace_id = ws and k.id = s.owner_id), 0) as score,
  s.own::float8, (s.covered / nullif(said.s, 0))::float8, s.cosine::float8
from f s cross join said cross join peak cross join height
where (peak.best >= 0.15 * said.s or height.discussed >= 0.3 * said.s or peak.closest >= min_cosine)
  and (s.kind = 'turn' and s.words > 0 or s.own > 0 and s.covered >= 0.15 * said.s or s.cosine >= min_cosine)
  and (cardinality(kinds) = 0 or s.kind = any(kinds)) and (cardinality(types) = 0 or s.type = any(types)) and (cardinality(targets) = 0 or s.target = any(targets))
  and (since is null or s.event_time >= since) and (until is null or s.event_time < until) and (within = '' or s.conversation_id = conversation)
order by score desc, s.doc limit max_rows;
end $find$;
-- +goose StatementEnd

-- find is find_docs with what is shown of each document, and before them what the
-- query names exactly: a skill, a memory's id, a turn by its conversation and place.
-- +goose StatementBegin
create function cairn.find(ws bigint, query_terms int[], query_vector halfvec, query_space smallint, vector_share float8, min_cosine float8,
  kinds text[], types text[], targets text[], since timestamptz, until timestamptz, within text,
  query_year int, query_month int, query_day int, asks_when boolean, max_rows int, skill_name text, memory_id text, turn_conversation text, turn_seq int)
returns table (named boolean, kind text, owner_id bigint, seq int, text text, type text, target text, event_time timestamptz, score float8, lexical float8, covered float8, cosine float8,
  conversation text, name text, from_seq int, to_seq int)
language plpgsql stable security invoker rows 20 set search_path = cairn, public, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $find$
#variable_conflict use_column
begin
  return query
  select n.doc is not null as named, d.kind, d.owner_id, d.seq, d.text, d.type, d.target, d.event_time, coalesce(r.score, 0), coalesce(r.lexical, 0), coalesce(r.covered, 0), coalesce(r.cosine, 0),
    coalesce((select c.external_id from conversations c where c.workspace_id = ws and c.id = d.conversation_id), ''),
    coalesce(m.external_id, (select k.name from skills k where d.kind = 'skill' and k.workspace_id = ws and k.id = d.owner_id), ''),
    coalesce(m.from_seq, d.seq), coalesce(m.to_seq, d.seq)
  from cairn.find_docs(ws, query_terms, query_vector, query_space, vector_share, min_cosine, kinds, types, targets, since, until, within, query_year, query_month, query_day, asks_when, max_rows) r
  full join (
    select (select e.doc from search_docs e where e.workspace_id = ws and e.kind = 'skill' and e.owner_id = s.id and e.seq = 0 and e.status = 'active') as doc from skills s where s.workspace_id = ws and s.name = skill_name
    union all
    select (select e.doc from search_docs e where e.workspace_id = ws and e.kind = 'memory' and e.owner_id = s.id and e.seq = 0 and e.status = 'active') from memories s where s.workspace_id = ws and s.external_id = memory_id
    union all
    select (select e.doc from search_docs e where e.workspace_id = ws and e.kind = 'turn' and e.owner_id = s.id and e.seq = turn_seq) from conversations s where s.workspace_id = ws and s.external_id = turn_conversation
  ) n on n.doc = r.doc
  cross join lateral (select * from search_docs o where o.workspace_id = ws and o.doc = coalesce(r.doc, n.doc) limit 1) d
  left join lateral (select o.external_id, o.from_seq, o.to_seq from memories o where d.kind = 'memory' and o.workspace_id = ws and o.id = d.owner_id limit 1) m on true
  where (cardinality(kinds) = 0 or d.kind = any(kinds)) and (cardinality(types) = 0 or d.type = any(types));
end $find$;
-- +goose StatementEnd

-- Within one kind of document: words that only other kinds know are not held
-- against it. A conversation of any length leaves the few memories of its
-- workspace as quick to rank as they are, for only their own vectors are fetched;
-- many documents are cheaper to hash. It is planned once for a connection, as
-- find_docs is and for the same reasons.
-- +goose StatementBegin
drop function cairn.rank_docs(bigint, text, text[], int[], halfvec, smallint, int);
create function cairn.rank_docs(ws bigint, doc_kind text, doc_states text[], query_terms int[], query_vector halfvec, query_space smallint, max_rows int)
returns table (doc bigint, owner_id bigint, lexical float8, hits int, terms int, cosine float8, score float8)
language plpgsql stable security invoker rows 100 set search_path = cairn, public, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_mergejoin = off set jit = off as $rank$
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
