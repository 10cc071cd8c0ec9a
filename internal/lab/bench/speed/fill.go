package speed

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// longRun is a run with 1,000 model calls.
const longRun = "run_zzzzzzzzzzzzzzzzzzzzzzzzzz"

// consoleFill adds rows to the tables that the pages read. Times are spread over 300 days.
func consoleFill(ctx context.Context, url string, ws int64, rows int) error {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("read the database URL: %w", err)
	}
	c.RuntimeParams["search_path"] = "cairn, public"
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, sql := range []string{
		`insert into conversations (workspace_id, external_id, title, created_at, last_turn_at)
select $1, 'talk' || i, 'Talk ' || i, at, at from generate_series(1, $2::int) i,
  lateral (select now() - make_interval(mins => (i::bigint * 432000 / $2)::int) as at) t`,
		`insert into runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id, status, outcome, result,
  conversation_id, created_at, started_at, ended_at)
select $1, 'run_' || translate(lpad(i::text, 26, '0'), 'ilou', 'jjjj'), 'turn', 'many' || i, sha256('x'), '{}',
  'w' || i, 'ended', 'completed', '{}', c.id, c.created_at, c.created_at, c.created_at + interval '3 s'
from (select id, created_at, row_number() over (order by id) as i from conversations where workspace_id = $1) c
where c.i <= $2::int`,
		`insert into runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id, status, outcome, result,
  created_at, started_at, ended_at)
select $1, '` + longRun + `', 'completion', 'long', sha256('x'), '{}', 'long', 'ended', 'completed', '{}',
  now() - interval '2 hours', now() - interval '2 hours', now() from generate_series(1, least($2::int, 1))`,
		`insert into llm_calls (workspace_id, run_id, step, round, state, stage, model, label, request, request_sha,
  holder, lease_until, reply, input_tokens, cost_micros, created_at, sent_at, finished_at)
select workspace_id, id, 'step/1', 0, 'done', 'turn', 'model', '{}', array['{"messages":[]}'], sha256('x'),
  gen_random_uuid(), now(), 'x', 100, 5, created_at, created_at, ended_at from runs
where workspace_id = $1 and business_key like 'many%' and $2::int > 0`,
		`insert into llm_calls (workspace_id, run_id, step, round, state, stage, model, label, request, request_sha,
  holder, lease_until, reply, input_tokens, cost_micros, created_at, sent_at, finished_at)
select $1, '` + longRun + `', 'step/' || i, 0, 'done', 'turn', 'model', '{}', array['{"messages":[]}'], sha256('x'),
  gen_random_uuid(), now(), 'x', 100, 5, at, at, at + interval '5 s'
from generate_series(1, greatest(1000, least($2::int, 1))) i,
  lateral (select now() - interval '2 hours' + make_interval(secs => i * 7) as at) t`,
		`with m as (insert into memories (workspace_id, external_id, type, target, content, content_sha256, origin,
    op_id)
  select $1, lpad(to_hex(i), 16, '0'), 'personal', 'ada', 'Fact ' || i || ' about the life of Ada',
    sha256(i::text::bytea), 'user', 'x' from generate_series(1, $2::int) i returning workspace_id, id, content)
insert into memory_revisions (workspace_id, memory_id, version, action, content, origin, tainted, op_id)
select workspace_id, id, 1, 'add', content, 'user', false, 'x' from m`,
		`insert into audit_events (workspace_id, action, object, actor)
select $1, 'key.create', 'key ' || i, 'system' from generate_series(1, $2::int) i`,
		`insert into outbox (workspace_id, kind, key, due_at)
select $1, 'embed', i::text, now() + interval '1 day' from generate_series(1, $2::int) i`,
	} {
		if _, err := conn.Exec(ctx, sql, ws, rows); err != nil {
			return fmt.Errorf("fill the tables: %w", err)
		}
	}
	if _, err := conn.Exec(ctx, "vacuum analyze"); err != nil {
		return fmt.Errorf("analyze the tables: %w", err)
	}
	return nil
}
