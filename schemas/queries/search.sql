-- name: DocGet :one
select doc, terms from search_docs where workspace_id = @workspace_id and kind = @kind and owner_id = @owner_id for update;

-- name: DocText :one
-- Locked, so that the text stands still until its vector is stored.
select text from search_docs where workspace_id = @workspace_id and doc = @doc for no key update;

-- name: DocOpen :execrows
-- One of two writers makes the row; both then read it under its lock.
insert into search_docs (workspace_id, kind, owner_id, status, text, terms) values (@workspace_id, @kind, @owner_id, @status, '', '{}')
on conflict (workspace_id, kind, owner_id) do nothing;

-- name: DocPut :exec
update search_docs set status = @status, text = @text, terms = @terms, event_time = now() where workspace_id = @workspace_id and doc = @doc;

-- name: StatsAdd :exec
insert into lex_stats (workspace_id, docs) values (@workspace_id, @docs)
on conflict (workspace_id) do update set docs = lex_stats.docs + excluded.docs;

-- name: TermsMove :exec
-- One statement for those that rise and those that fall: every writer takes the
-- rows in one order.
insert into lex_terms (workspace_id, term, df)
select @workspace_id, m.term, m.by from (select unnest(@terms::int[]) as term, unnest(@moves::int[]) as by) m order by m.term
on conflict (workspace_id, term) do update set df = lex_terms.df + excluded.df;

-- name: PostingsPut :exec
insert into lex_postings (workspace_id, term, doc, w)
select @workspace_id, unnest(@terms::int[]), @doc, unnest(@weights::real[])
on conflict (workspace_id, term, doc) do update set w = excluded.w;

-- name: PostingsDrop :exec
delete from lex_postings where workspace_id = @workspace_id and doc = @doc and term = any(@terms::int[]);

-- name: EmbeddingPut :exec
insert into embeddings (workspace_id, doc, space, v) values (@workspace_id, @doc, @space, @v)
on conflict (space, workspace_id, doc) do update set v = excluded.v;

-- name: EmbeddingDrop :exec
delete from embeddings where workspace_id = @workspace_id and doc = @doc and space = @space;

-- name: SearchRanked :many
-- BM25 over postings and exact vector distance, fused by reciprocal rank. A query
-- term that a tenth of the documents hold says nothing, unless all of them are such.
with n as (
  select coalesce((select docs from lex_stats where workspace_id = @workspace_id), 0) as docs
), q as (
  select t.term, t.df, ln(1 + (n.docs - t.df + 0.5) / (t.df + 0.5)) as idf
  from lex_terms t, n where t.workspace_id = @workspace_id and t.term = any(@terms::int[]) and t.df > 0
), keep as (
  select q.* from q, n where q.df <= greatest(50, n.docs / 10) or not exists (select from q q2 where q2.df <= n.docs / 10)
), l as (
  select p.doc, sum(p.w * k.idf) as score, count(*) as hits, row_number() over (order by sum(p.w * k.idf) desc, p.doc) as r
  from keep k join lex_postings p on p.workspace_id = @workspace_id and p.term = k.term
  join search_docs s on s.workspace_id = @workspace_id and s.doc = p.doc and s.kind = @kind and s.status = any(@states::text[])
  group by p.doc order by score desc, p.doc limit 100
), d as (
  select e.doc, (1 - (e.v <=> @query::halfvec))::float8 as cosine, row_number() over (order by e.v <=> @query::halfvec, e.doc) as r
  from embeddings e
  join search_docs s on s.workspace_id = @workspace_id and s.doc = e.doc and s.kind = @kind and s.status = any(@states::text[])
  where e.workspace_id = @workspace_id and e.space = @space
  order by (e.v <=> @query::halfvec) + 0, e.doc limit 100
)
select s.doc, s.owner_id, coalesce(l.score, 0)::float8 as lexical, coalesce(l.hits, 0)::int as hits, (select count(*) from keep)::int as terms,
  coalesce(d.cosine, 0)::float8 as cosine,
  (coalesce(1.0 / (60 + l.r), 0) + coalesce(1.0 / (60 + d.r), 0))::float8 as score
from l full join d on d.doc = l.doc
join search_docs s on s.workspace_id = @workspace_id and s.doc = coalesce(l.doc, d.doc)
order by score desc, s.doc limit @max_rows;
