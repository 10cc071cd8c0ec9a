-- name: DocGet :one
select doc, terms, target_terms from search_docs where workspace_id = @workspace_id and kind = @kind and owner_id = @owner_id and seq = @seq for update;

-- name: DocText :one
-- Locked, so that the text does not change until its vector is stored.
select text from search_docs where workspace_id = @workspace_id and doc = @doc for no key update;

-- name: DocOpen :execrows
-- One of two writers creates the row; both then read it under its lock.
insert into search_docs (workspace_id, kind, owner_id, seq, status, text, terms) values (@workspace_id, @kind, @owner_id, @seq, @status, '', '{}')
on conflict (workspace_id, kind, owner_id, seq) do nothing;

-- name: DocPut :exec
update search_docs set status = @status, text = @text, terms = @terms, type = @type, target = @target, target_terms = @target_terms, asks = @asks, dated = @dated,
  conversation_id = sqlc.narg(conversation_id), event_time = coalesce(sqlc.narg(event_time), now())
where workspace_id = @workspace_id and doc = @doc;

-- name: StatsAdd :exec
insert into lex_stats (workspace_id, docs) values (@workspace_id, @docs)
on conflict (workspace_id) do update set docs = lex_stats.docs + excluded.docs;

-- name: TermsMove :exec
-- One statement for increases and decreases: every writer locks the rows in the same order.
insert into lex_terms (workspace_id, term, df, speakers)
select @workspace_id, m.term, m.by, m.names from (select unnest(@terms::int[]) as term, unnest(@moves::int[]) as by, unnest(@names::int[]) as names) m order by m.term
on conflict (workspace_id, term) do update set df = lex_terms.df + excluded.df, speakers = lex_terms.speakers + excluded.speakers;

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
-- The ranked skills, and the one whose canonical name is the query, with the columns of lists.
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
-- The foreign key deletes the vector.
delete from search_docs where workspace_id = @workspace_id and doc = @doc;

-- name: LastSitting :one
-- The position of the latest turn of a conversation, and the database's time.
select now()::timestamptz as now, coalesce(s.session, -1)::int as session, s.event_time
from (select 1) one left join lateral (
  select l.session, l.event_time from search_docs l where l.workspace_id = @workspace_id and l.kind = 'turn' and l.owner_id = @conversation_id and l.seq < @before::int order by l.seq desc limit 1
) s on true;

-- name: DocsPut :many
-- Inserts many new documents at once. The terms and weights of all of them are concatenated; at
-- holds the index, from 0, of the document that each belongs to. There are either no vectors or one
-- for each.
with posting as materialized (
  select unnest(@at::int[]) as at, unnest(@terms::int[]) as term, unnest(@weights::real[]) as w
), held as materialized (
  select at, array_agg(term order by term) as terms from posting group by at
), given as materialized (
  select row_number() over () - 1 as at, d.* from (select unnest(@kinds::text[]) as kind, unnest(@owners::bigint[]) as owner_id, unnest(@seqs::int[]) as seq, unnest(@conversations::bigint[]) as conversation_id,
    unnest(@sessions::int[]) as session, unnest(@texts::text[]) as text, unnest(@types::text[]) as type, unnest(@targets::text[]) as target, unnest(@target_terms::text[]) as target_terms,
    unnest(@asks::boolean[]) as asks, unnest(@dated::boolean[]) as dated, unnest(@event_times::text[]) as event_time) d
), made as (
  insert into search_docs (workspace_id, kind, owner_id, seq, conversation_id, session, status, text, terms, type, target, target_terms, asks, dated, event_time)
  select @workspace_id, d.kind, d.owner_id, d.seq, nullif(d.conversation_id, 0), d.session, 'active', d.text, coalesce(held.terms, '{}'), d.type, d.target, d.target_terms::int[],
    d.asks, d.dated, nullif(d.event_time, '')::timestamptz
  from given d left join held on held.at = d.at order by d.at
  returning doc, kind, owner_id, seq
), placed as materialized (
  select made.doc, given.at from made join given using (kind, owner_id, seq)
), posted as (
  insert into lex_postings (workspace_id, term, doc, w)
  select @workspace_id, p.term, placed.doc, p.w from placed join posting p using (at) order by p.term, placed.doc
), embedded as (
  insert into embeddings (workspace_id, doc, space, v)
  select @workspace_id, placed.doc, @space, v.v from placed join unnest(@vectors::halfvec[]) with ordinality v (v, n) on v.n = placed.at + 1
)
select doc from placed order by at;

-- name: EmbeddingsPut :exec
insert into embeddings (workspace_id, doc, space, v) select @workspace_id, unnest(@docs::bigint[]), @space, unnest(@vectors::halfvec[]);

-- name: FindDocs :many
-- All documents, ranked, preceded by those that the query names exactly.
select r.named::boolean as named, r.kind::text as kind, r.owner_id::bigint as owner_id, r.seq::int as seq, r.text::text as text, r.type::text as type, r.target::text as target, (r.event_time is not null)::boolean as timed, coalesce(r.event_time, 'epoch')::timestamptz as event_time,
  r.score::float8 as score, r.lexical::float8 as lexical, r.covered::float8 as covered, r.cosine::float8 as cosine,
  r.conversation::text as conversation, r.name::text as name, r.from_seq::int as from_seq, r.to_seq::int as to_seq
from cairn.find(@workspace_id::bigint, @terms::int[], @query::halfvec, @space::smallint, @vector_share::float8, @min_cosine::float8,
  @kinds::text[], @types::text[], @targets::text[], sqlc.narg(since)::timestamptz, sqlc.narg(until)::timestamptz, @within::text,
  @year::int, @month::int, @day::int, @asks_when::boolean, @max_rows::int, @skill_name::text, @memory_id::text, @turn_conversation::text, @turn_seq::int) r
order by r.named desc, r.score desc;

-- name: VectorIndexStatement :one
select cairn.vector_index_statement(@workspace_id::bigint, @space::smallint)::text;

-- name: VectorIndexDrop :one
select cairn.vector_index_drop(@workspace_id::bigint, @space::smallint)::text;

-- name: VectorGraphs :many
select g.ws::bigint as workspace_id, g.valid::boolean as valid from cairn.vector_graphs(@space::smallint) g;

-- name: GraphsLock :one
-- One builder at a time in the whole database. The lock ends with its session.
select pg_try_advisory_lock(3, 0);

-- name: GraphsUnlock :exec
select pg_advisory_unlock(3, 0);

-- name: BigWorkspaces :many
select workspace_id, docs from lex_stats where docs >= @least::int order by workspace_id;

-- name: NearestBare :many
-- Exact distance only: the reference for measuring searches.
select doc, ((v <=> @query::halfvec) + 0)::float8 as distance from embeddings where workspace_id = @workspace_id and space = @space order by distance limit @max_rows;

-- name: NearestInGraph :many
-- The same by the workspace's graph.
select n.doc::bigint as doc, n.dist::float8 as distance from cairn.nearest_in_graph(@workspace_id::bigint, @query::halfvec, @space::smallint, @max_rows::int) n order by 2, 1;
