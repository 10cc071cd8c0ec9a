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
select r.doc::bigint as doc, r.owner_id::bigint as owner_id, r.lexical::float8 as lexical, r.hits::int as hits, r.terms::int as terms, r.cosine::float8 as cosine, r.score::float8 as score
from cairn.rank_docs(@workspace_id::bigint, @kind::text, @states::text[], @terms::int[], @query::halfvec, @space::smallint, @max_rows::int) r
order by r.score desc, r.doc;

-- name: SearchSkills :many
-- The ranked skills, and the one whose canonical name is the query, with what
-- lists show of them.
select coalesce(r.doc, 0)::bigint as doc, coalesce(r.lexical, 0)::float8 as lexical, coalesce(r.hits, 0)::int as hits, coalesce(r.terms, 0)::int as terms,
  coalesce(r.cosine, 0)::float8 as cosine, coalesce(r.score, 0)::float8 as score, (s.name = @name::text)::boolean as named,
  s.id, s.name, s.category, s.status, s.head_version, s.pinned, s.managed, s.tainted, s.origin, s.eta, s.uses, s.created_at, s.updated_at, v.description, v.lang, v.degraded, p.key as package_key
from cairn.rank_docs(@workspace_id::bigint, 'skill', @states::text[], @terms::int[], @query::halfvec, @space::smallint, @max_rows::int) r
full join (select n.id from skills n where n.workspace_id = @workspace_id and n.name = @name::text and n.status = any(@states::text[]) and n.deleted_at is null) exact on exact.id = r.owner_id
join skills s on s.workspace_id = @workspace_id and s.id = coalesce(r.owner_id, exact.id) and s.deleted_at is null
join skill_versions v on v.workspace_id = s.workspace_id and v.skill_id = s.id and v.version = s.head_version
join packages p on p.workspace_id = v.workspace_id and p.sha256 = v.package_sha256
order by named desc, score desc, doc;

-- name: DocDrop :exec
-- The vector follows by its reference.
delete from search_docs where workspace_id = @workspace_id and doc = @doc;
