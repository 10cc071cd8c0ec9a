-- name: DocGet :one
select doc, target_terms from search_docs where workspace_id = @workspace_id and kind = @kind and owner_id = @owner_id and seq = @seq for update;

-- name: LexKeys :many
-- In a statement of its own: one that waits for the lock of the document would see
-- the keys from before.
select unnest(keys)::bigint as key from lex_docs where workspace_id = @workspace_id and doc = @doc;

-- name: DocText :one
-- Locked, so that the text does not change until its vector is stored.
select text from search_docs where workspace_id = @workspace_id and doc = @doc for no key update;

-- name: DocOpen :execrows
-- One of two writers creates the row; both then read it under its lock.
insert into search_docs (workspace_id, kind, owner_id, seq, status, text) values (@workspace_id, @kind, @owner_id, @seq, @status, '')
on conflict (workspace_id, kind, owner_id, seq) do nothing;

-- name: DocPut :exec
-- A new text makes the vectors of all spaces stale. The caller stores that of its own space again.
with stale as (
  delete from embeddings e where e.workspace_id = @workspace_id and e.doc = @doc and e.space = any(array(select s.id from embedding_spaces s))
    and exists (select from search_docs d where d.workspace_id = @workspace_id and d.doc = @doc and d.text <> @text)
), readable as (
  delete from embed_refusals r where r.workspace_id = @workspace_id and r.doc = @doc
    and exists (select from search_docs d where d.workspace_id = @workspace_id and d.doc = @doc and d.text <> @text)
)
update search_docs t set status = @status, text = @text, type = @type, target = @target, target_terms = @target_terms, asks = @asks, dated = @dated,
  conversation_id = sqlc.narg(conversation_id), event_time = coalesce(sqlc.narg(event_time), now())
where t.workspace_id = @workspace_id and t.doc = @doc;

-- name: StatsAdd :exec
insert into lex_stats (workspace_id, docs) values (@workspace_id, @docs)
on conflict (workspace_id) do update set docs = lex_stats.docs + excluded.docs;

-- name: TermsMove :exec
-- Changes document frequencies. Every writer takes the rows in one order.
insert into lex_terms (workspace_id, term, df, speakers, max_w)
select @workspace_id, m.term, m.by, m.names, m.w from (select unnest(@terms::int[]) as term, unnest(@moves::int[]) as by, unnest(@names::int[]) as names, unnest(@weights::real[]) as w) m order by m.term
on conflict (workspace_id, term) do update set df = lex_terms.df + excluded.df, speakers = lex_terms.speakers + excluded.speakers, max_w = greatest(lex_terms.max_w, excluded.max_w);

-- name: LexPut :exec
insert into lex_docs (workspace_id, doc, event_time, keys, sv)
select d.workspace_id, d.doc, d.event_time, @keys::bigint[], @sv::sparsevec from search_docs d where d.workspace_id = @workspace_id and d.doc = @doc
on conflict (workspace_id, doc) do update set event_time = excluded.event_time, keys = excluded.keys, sv = excluded.sv;

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
  s.id, s.name, s.category, s.status, s.head_version, s.pinned, s.managed, s.tainted, s.origin, s.eta, s.uses, s.impressions, s.created_at, s.updated_at, v.description, v.lang, v.degraded, p.key as package_key
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
-- New documents, many at once. keys and svs hold one array and one sparse vector for
-- each, as text. There may be no vectors, or one for each.
with given as materialized (
  select row_number() over () - 1 as at, d.* from (select unnest(@kinds::text[]) as kind, unnest(@owners::bigint[]) as owner_id, unnest(@seqs::int[]) as seq, unnest(@conversations::bigint[]) as conversation_id,
    unnest(@sessions::int[]) as session, unnest(@texts::text[]) as text, unnest(@types::text[]) as type, unnest(@targets::text[]) as target, unnest(@target_terms::text[]) as target_terms,
    unnest(@asks::boolean[]) as asks, unnest(@dated::boolean[]) as dated, unnest(@event_times::text[]) as event_time, unnest(@keys::text[]) as keys, unnest(@svs::text[]) as sv) d
), made as (
  insert into search_docs (workspace_id, kind, owner_id, seq, conversation_id, session, status, text, type, target, target_terms, asks, dated, event_time)
  select @workspace_id, d.kind, d.owner_id, d.seq, nullif(d.conversation_id, 0), d.session, 'active', d.text, d.type, d.target, d.target_terms::int[],
    d.asks, d.dated, nullif(d.event_time, '')::timestamptz
  from given d order by d.at
  returning doc, kind, owner_id, seq, event_time
), placed as materialized (
  select made.doc, made.event_time, given.at, given.keys, given.sv from made join given using (kind, owner_id, seq)
), worded as (
  insert into lex_docs (workspace_id, doc, event_time, keys, sv)
  select @workspace_id, p.doc, p.event_time, p.keys::bigint[], p.sv::sparsevec from placed p
), embedded as (
  insert into embeddings (workspace_id, doc, space, v)
  select @workspace_id, placed.doc, @space, v.v from placed join unnest(@vectors::halfvec[]) with ordinality v (v, n) on v.n = placed.at + 1
)
select doc from placed order by at;

-- name: EmbeddingsPut :exec
insert into embeddings (workspace_id, doc, space, v) select @workspace_id, unnest(@docs::bigint[]), @space, unnest(@vectors::halfvec[])
on conflict (space, workspace_id, doc) do update set v = excluded.v;

-- name: LexStatistics :many
-- What is known of words and filter keys, and of the workspace in the row of term -1.
select -1::int as term, coalesce((select s.docs from lex_stats s where s.workspace_id = @workspace_id), 0)::int as df, 0::int as speakers, 0::real as max_w,
  coalesce((select w.settings from workspaces w where w.id = @workspace_id), '{}')::json as settings
union all
select t.term, t.df, t.speakers, t.max_w, null::json from lex_terms t where t.workspace_id = @workspace_id and t.term = any(@terms::int[]);

-- name: LexCandidates :many
select c.doc::bigint as doc, c.score::float8 as score
from cairn.lex_candidates(@workspace_id::bigint, @sets::text[], sqlc.narg(query)::sparsevec, sqlc.narg(since)::timestamptz, sqlc.narg(until)::timestamptz, @max_rows::int) c;

-- name: LexAmong :many
-- The best of some documents by words. All of them are compared.
select d.doc, (-(d.sv <#> @query::sparsevec))::float8 as score from lex_docs d
where d.workspace_id = @workspace_id and d.doc = any(@docs::bigint[]) and -(d.sv <#> @query::sparsevec) > 0
order by score desc, d.doc limit @max_rows;

-- name: Nearest :many
select n.doc::bigint as doc, n.dist::float8 as distance
from cairn.nearest(@workspace_id::bigint, sqlc.narg(docs)::bigint[], @query::halfvec, @space::smallint, @max_rows::int) n;

-- name: CandidateDocs :many
select c.doc::bigint as doc, c.wanted::boolean as wanted, c.kind::text as kind, c.owner_id::bigint as owner_id, c.seq::int as seq, c.session::int as session, c.type::text as type, c.target::text as target,
  c.target_terms::int[] as target_terms, c.asks::boolean as asks, c.dated::boolean as dated, (c.event_time is not null)::boolean as timed, coalesce(c.event_time, 'epoch')::timestamptz as event_time,
  coalesce(c.conversation_id, 0)::bigint as conversation_id, c.utility::float8 as utility, c.sv::sparsevec as sv
from cairn.candidate_docs(@workspace_id::bigint, @docs::bigint[]) c;

-- name: NamedDocs :many
-- The documents that a query names exactly: a skill, a memory's ID, a turn. Names that are empty are not
-- looked up. The owners are read first, so that the plan is also good without statistics.
select e.doc from search_docs e
where e.workspace_id = @workspace_id and e.kind = 'skill' and e.seq = 0 and e.status = 'active' and @skill_name::text <> ''
  and e.owner_id = any(array(select s.id from skills s where s.workspace_id = @workspace_id and s.name = @skill_name::text))
union all
select e.doc from search_docs e
where e.workspace_id = @workspace_id and e.kind = 'memory' and e.seq = 0 and e.status = 'active' and @memory_id::text <> ''
  and e.owner_id = any(array(select m.id from memories m where m.workspace_id = @workspace_id and m.external_id = @memory_id::text))
union all
select e.doc from search_docs e
where e.workspace_id = @workspace_id and e.kind = 'turn' and e.seq = @turn_seq::int and @turn_conversation::text <> ''
  and e.owner_id = any(array(select c.id from conversations c where c.workspace_id = @workspace_id and c.external_id = @turn_conversation::text));

-- name: TurnsAround :many
-- Up to n turns before and after each of some turns, in the same sitting.
select t.doc as turn, d.doc::bigint as doc from search_docs t
cross join lateral (
  (select b.doc, b.seq from search_docs b where b.workspace_id = @workspace_id and b.kind = 'turn' and b.owner_id = t.owner_id and b.seq < t.seq and b.session = t.session and b.status = 'active' order by b.seq desc limit @n::int)
  union all
  (select a.doc, a.seq from search_docs a where a.workspace_id = @workspace_id and a.kind = 'turn' and a.owner_id = t.owner_id and a.seq > t.seq and a.session = t.session and a.status = 'active' order by a.seq limit @n::int)
) d
where t.workspace_id = @workspace_id and t.doc = any(@docs::bigint[]) and t.kind = 'turn'
order by t.doc, d.seq;

-- name: DocResults :many
-- A memory without messages of its own comes from those of its session.
select d.doc, d.kind, d.owner_id, d.seq, d.text, d.type, d.target, (d.event_time is not null)::boolean as timed, coalesce(d.event_time, 'epoch')::timestamptz as event_time,
  coalesce((select c.external_id from conversations c where c.workspace_id = @workspace_id and c.id = coalesce(d.conversation_id, h.conversation_id)), '')::text as conversation,
  coalesce(m.external_id, (select k.name from skills k where d.kind = 'skill' and k.workspace_id = @workspace_id and k.id = d.owner_id), '')::text as name,
  coalesce(m.from_seq, h.from_seq, d.seq)::int as from_seq, coalesce(m.to_seq, h.to_seq, d.seq)::int as to_seq
from search_docs d
left join lateral (select o.external_id, o.from_seq, o.to_seq, o.history_id from memories o where d.kind = 'memory' and o.workspace_id = @workspace_id and o.id = d.owner_id limit 1) m on true
left join lateral (select s.conversation_id, s.from_seq, s.to_seq from memory_histories s where m.from_seq is null and s.workspace_id = @workspace_id and s.id = m.history_id limit 1) h on true
where d.workspace_id = @workspace_id and d.doc = any(@docs::bigint[]);

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

-- name: WorkspacesToCount :many
-- System role: workspaces whose word frequencies were not counted for a week, the longest ago first.
select workspace_id from lex_stats where counted_at < now() - interval '7 days' order by counted_at limit @max_rows;

-- name: TermsRecount :one
select cairn.recount_terms(@workspace_id::bigint)::bigint;

-- name: StatsCounted :exec
update lex_stats set counted_at = now() where workspace_id = @workspace_id;
