-- name: TraceSpanPut :execrows
-- No row means that the span was received before.
insert into trace_spans (workspace_id, trace_id, span_id, session, format, content)
values (@workspace_id, @trace_id, @span_id, @session, @format, @content::bytea)
on conflict (workspace_id, trace_id, span_id) do nothing;

-- name: TraceSessions :many
-- The conversations of traces that are not imported.
select distinct session from trace_spans where workspace_id = @workspace_id and trace_id = any(@traces::bytea[]) and content is not null;

-- name: TraceSpans :many
-- The first spans of a conversation that are not imported, up to a size, and at least one.
select id, format, content::bytea as content from (
  select id, format, content, sum(length(content)) over (order by id) as size, row_number() over (order by id) as n
  from trace_spans where workspace_id = @workspace_id and session = @session and content is not null) s
where size <= @max_size::bigint or n = 1 order by id;

-- name: TraceSpansDone :execrows
update trace_spans set content = null where workspace_id = @workspace_id and id = any(@ids::bigint[]) and content is not null;

-- name: TraceSpansLeft :one
select exists(select from trace_spans where workspace_id = @workspace_id and session = @session and content is not null);

-- name: TraceSpansForget :exec
delete from trace_spans t where t.workspace_id = @workspace_id and t.id in (
  select o.id from trace_spans o where o.workspace_id = @workspace_id and o.content is null and o.received_at < now() - @age::interval limit 1000);
