-- name: calls
select run_id::text, stage, coalesce(label->>'task', ''), coalesce(label->>'file', ''), coalesce(cairn.request_of(workspace_id, conversation_id, request, parts), ''), step, round, state, attempts, unknown, finished_at
from cairn.llm_calls order by run_id, step, round
