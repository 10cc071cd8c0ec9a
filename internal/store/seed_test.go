package store_test

import (
	"cairn/internal/domain/access"
	"cairn/internal/lab/pgtest"
)

// secret is in every text of a seeded workspace.
const secret = "the vault code is 4711"

// seed puts a row into every table of a workspace.
func (b *bundle) seed(ws access.Workspace) {
	b.t.Helper()
	space, err := b.Space(b.t.Context(), "seeded", 3)
	if err != nil {
		b.t.Fatal(err)
	}
	b.exec(`
with conversation as (
  insert into conversations (workspace_id, external_id, title, session) values ($1, 'c', $3, sha256('x')) `+
		`returning id
), message as (
  insert into messages (workspace_id, conversation_id, seq, external_id, role, content) select $1, id, 0, '0', `+
		`'user', $3 from conversation
), attachment as (
  insert into attachments (workspace_id, conversation_id, turn, seq, position, sha256, kind, type, bytes, content)
  select $1, id, 1, 0, 0, sha256('x'), 'image', 'image/png', 1, convert_to($3, 'UTF8') from conversation
), import as (
  insert into imports (workspace_id, sha256, name, format, allow_unknown, distill, report, bytes, content, `+
		`conversations)
  select $1, sha256('x'), $3, '', false, false, '{}', 1, convert_to($3, 'UTF8'), array[id] from conversation
), trace_span as (
  insert into trace_spans (workspace_id, trace_id, span_id, session, format, content)
  select $1, decode(repeat('01', 16), 'hex'), decode(repeat('02', 8), 'hex'), sha256('x'), 'otel-genai', `+
		`convert_to($3, 'UTF8')
), run as (
  insert into runs (workspace_id, id, kind, business_key, args_sha, conversation_id, spec, workflow_id)
  select $1, `+pgtest.RunID+`, 'distill', 'k', sha256('x'), id, '{}', 'w' from conversation returning id
), distilled as (
  insert into distill_tasks (workspace_id, run_id, task_key, position, name, seqs, lang) select $1, id, 't', 0, $3, `+
		`'{0}', 'en' from run
), file as (
  insert into distill_files (workspace_id, run_id, task_key, kind, name, content) select $1, id, 't', 'scripts', `+
		`'x.py', $3 from run
), call as (
  insert into llm_calls (workspace_id, run_id, step, round, state, stage, model, label, request, request_sha, `+
		`holder, lease_until, reserved)
  select $1, id, 'chunk', 0, 'started', 'chunk', 'm', '{}', array[$3], sha256('x'), gen_random_uuid(), `+
		`now() - interval '1 hour', 7 from run
), request_part as (
  insert into request_parts (workspace_id, conversation_id, sha256, content)
  select $1, id, sha256(convert_to($3, 'UTF8')), $3 from conversation
), session as (
  insert into frozen_sessions (workspace_id, channel, lang, rendered, tools, sha256, expires_at) values ($1, 'cli', `+
		`'en', $3, '[]', sha256('x'), now() + interval '1 hour')
), turn as (
  insert into turns (workspace_id, conversation_id, number, message_id, mode, origin, args_sha, run_id, context, `+
		`first_seq)
  select $1, conversation.id, 1, '0', 'answer', 'user', sha256('x'), run.id, $3, 0 from conversation, run
), turn_request as (
  insert into turn_requests (workspace_id, conversation_id, number, thread, history_sha, body_sha, times)
  select $1, id, 1, $3, sha256('x'), sha256('x'), 1 from conversation
), step as (
  insert into agent_steps (workspace_id, run_id, step, content) select $1, id, 1, $3 from run
), reply_chunk as (
  insert into reply_chunks (workspace_id, run_id, step, attempt, seq, body) select $1, id, 1, 1, 1, $3 from run
), tool_call as (
  insert into agent_calls (workspace_id, run_id, step, position, call_id, tool, class, arguments) select $1, id, 1, `+
		`0, 'c', 'memory_save', 'fast', $3 from run
), op as (
  insert into tool_op_log (workspace_id, op_id, args_sha, result) values ($1, 'op', sha256('x'), to_jsonb($3::text))
), duty as (
  insert into outbox (workspace_id, kind, key) select $1, 'drive', id from run
), skill as (
  insert into skills (workspace_id, name, head_version, origin) values ($1, 'vault', 1, 'distill') returning id
), package as (
  insert into packages (workspace_id, sha256, key, bytes, touched_at) values ($1, sha256('x'), 'key-' || $1, 1, `+
		`now() - interval '1 hour')
), version as (
  insert into skill_versions (workspace_id, skill_id, version, base_version, display_name, description, body, lang, `+
		`content_sha256, package_sha256, origin)
  select $1, id, 1, 0, 'Vault', $3, $3, 'en', sha256('x'), sha256('x'), 'distill' from skill
), skill_file as (
  insert into skill_files (workspace_id, skill_id, version, path, content) select $1, id, 1, 'scripts/x.py', $3 `+
		`from skill
), source as (
  insert into skill_sources (workspace_id, skill_id, version, conversation_id, from_seq, to_seq)
  select $1, skill.id, 1, conversation.id, 0, 0 from skill, conversation
), view as (
  insert into skill_views (workspace_id, run_id, skill_id, version) select $1, run.id, skill.id, 1 from run, skill
), pending as (
  insert into pending_writes (workspace_id, skill_id, base_version, version, reason, origin) select $1, id, 1, `+
		`to_jsonb($3::text), $3, 'distill' from skill
), ending as (
  insert into conversation_outcomes (workspace_id, conversation_id, voter, outcome, note)
  select $1, id, 'v', 'success', $3 from conversation
), use as (
  insert into skill_uses (workspace_id, skill_id, use_id, version) select $1, id, 'u', 1 from skill
), memo as (
  insert into failure_memos (workspace_id, key, code, reason) values ($1, 'x', 'model_refused', $3)
), key as (
  insert into api_keys (workspace_id, name, hash, hint, scopes) values ($1, $3, sha256($1::text::bytea), 'ck', '{}')
), console_session as (
  insert into console_sessions (workspace_id, hash, account, scopes) values ($1, sha256('x'), 'ada', '{read}')
), console_code as (
  insert into console_codes (workspace_id, hash, account, scopes)
  values ($1, sha256(('code' || $1)::text::bytea), 'ada', '{read}')
), account as (
  insert into channel_accounts (name, platform) values ('a' || $1::text, 'telegram') returning name
), person as (
  insert into identities (account, kind, user_id, workspace_id, name, role)
  select name, 'user', 'u', $1, $3, 'user' from account
), route as (
  insert into channel_routes (workspace_id, account, chat, conversation)
  select $1, name, $3, $3 from account returning id
), received as (
  insert into channel_events (workspace_id, account, key, route_id, body)
  select $1, name, 'k', id, jsonb_build_object('text', $3::text) from account, route
), delivery as (
  insert into deliveries (workspace_id, route_id, source, body)
  select $1, id, 'event/1', jsonb_build_object('text', $3::text) from route returning id
), part as (
  insert into delivery_parts (workspace_id, delivery_id, number, body) select $1, id, 1, $3 from delivery
), event as (
  insert into audit_events (workspace_id, action, object, actor, account) values ($1, 'key.create', $3, 'cli', $3)
), erased as (
  insert into erased_runs (workspace_id, id) values ($1, `+pgtest.RunID+`)
), memory as (
  insert into memories (workspace_id, external_id, type, content, content_sha256, origin, op_id) values ($1, `+
		`'00112233445566ff', 'core', $3, sha256('x'), 'user', 'op') returning id
), revision as (
  insert into memory_revisions (workspace_id, memory_id, version, action, content, origin, tainted, op_id) select `+
		`$1, id, 1, 'add', $3, 'user', false, 'op' from memory
), staged as (
  insert into pending_memories (workspace_id, type, operations, base, adds, gist, reason, origin, tainted, op_id)
  values ($1, 'core', to_jsonb($3::text), '{}', 1, $3, 'approval', 'nudge', false, 'op')
), target as (
  insert into memory_targets (workspace_id, type, target_key, match_key, target) values ($1, 'personal', $3, 'x', $3)
), history as (
  insert into memory_histories (workspace_id, id, content_sha256, conversation_id, from_seq, to_seq, messages, `+
		`tokens, op_id)
  select $1, '00112233445566ff', sha256('x'), id, 0, 0, 1, 1, 'op' from conversation
), chunk as (
  insert into history_chunks (workspace_id, history_id, number, from_seq, to_seq, tokens) values ($1, `+
		`'00112233445566ff', 0, 0, 0, 1)
), ref as (
  insert into memory_refs (workspace_id, memory_id, history_id) select $1, id, '00112233445566ff' from memory
), memory_view as (
  insert into memory_views (workspace_id, run_id, memory_id, op_id) select $1, run.id, memory.id, 'op' from run, memory
), identity as (
  insert into identity_versions (workspace_id, version, content, action, origin, op_id) values ($1, 1, $3, `+
		`'replace', 'user', 'op')
), lease as (
  insert into memory_leases (workspace_id, type, target_key, holder, fence, lease_until) values ($1, 'personal', `+
		`$3, 'x', 1, now())
), mark as (
  insert into conversation_marks (workspace_id, conversation_id, kind, seq) select $1, id, 'summarize', 0 from `+
		`conversation
), task as (
  insert into scheduled_tasks (workspace_id, name, kind, cron, prompt) values ($1, 'seeded', 'turn', '0 9 * * *', $3)
), reflection as (
  insert into reflection_runs (workspace_id, local_date, zone, status, to_at, reason) values ($1, '2001-01-01', `+
		`'UTC', 'saved', now(), $3)
), note as (
  insert into memories (workspace_id, external_id, type, target, content, content_sha256, origin, op_id, `+
		`conversation_id, from_seq, to_seq)
  select $1, '00000000000000aa', 'note', '2001-01-01', $3, sha256('n'), 'reflection', 'op', id, 0, 0 from `+
		`conversation returning id
), recalled as (
  insert into note_recalls (workspace_id, memory_id, query_sha, relevance) select $1, id, sha256('q'), 1 from note
), taken as (
  insert into reflection_reads (workspace_id, run_id, conversation_id, from_seq, to_seq, part) select $1, run.id, `+
		`conversation.id, 0, 0, 0 from run, conversation
), away as (
  insert into offload_blobs (workspace_id, sha256, kind, content, bytes, expires_at) values ($1, sha256('b'), `+
		`'text', $3, 3, 'infinity')
), put_away as (
  insert into offload_uses (workspace_id, session, sha256, conversation_id, label) select $1, 'c/1', sha256('b'), `+
		`id, $3 from conversation
), compaction as (
  insert into compactions (workspace_id, conversation_id, upto_turn, run_id, content, tokens) select $1, `+
		`conversation.id, 1, run.id, $3, 1 from run, conversation
), memory_skill as (
  insert into memory_skills (workspace_id, id, body) values ($1, 'insert@x', to_jsonb($3::text))
), policy as (
  insert into policies (workspace_id, sha, kind, blob) values ($1, repeat('a', 64), 'policy', 'x') returning sha
), bank as (
  insert into banks (workspace_id, name) values ($1, 'default') returning id
), bank_version as (
  insert into bank_versions (workspace_id, bank_id, number, action, bank_sha, capacity, members, policy_sha, `+
		`optimizer_sha, snapshot_sha, reason)
  select $1, bank.id, 1, 'seed', 'x', 1, '{}', policy.sha, policy.sha, 'x', $3 from bank, policy
), decision as (
  insert into decisions (workspace_id, id, run_id, conversation_id, span, from_seq, to_seq, bank_id, bank_version, `+
		`choice)
  select $1, 'd', run.id, conversation.id, 0, 0, 0, bank.id, 1, '{}' from run, conversation, bank returning id
), decision_outcome as (
  insert into decision_outcomes (workspace_id, decision_id, op_id, run_id, source, score) select $1, decision.id, `+
		`'op', run.id, 'praise', 1 from decision, run
), policy_update as (
  insert into policy_updates (workspace_id, bank_id, number, run_id, base, state, policy_sha, optimizer_sha, `+
		`decisions, note) select $1, bank.id, 1, run.id, 1, 'canary', 'x', 'x', 1, $3 from bank, run
), probe as (
  insert into probes (workspace_id, run_id, number, conversation_id, bank_id, question, answer, evidence, `+
		`decisions) select $1, run.id, 0, conversation.id, bank.id, $3, $3, '{}', '{}' from run, conversation, bank
), hard as (
  insert into cases (workspace_id, bank_id, key, source, question, op_id) select $1, id, 'k', 'feedback', $3, 'op' `+
		`from bank returning id
), vote as (
  insert into votes (workspace_id, voter, answer, op_id, source, run_id, conversation_id, case_id) select $1, `+
		`'cli/' || $3, 'turn/' || run.id, 'op', 'praise', run.id, conversation.id, hard.id from run, conversation, hard
), evolution as (
  insert into evolution_rounds (workspace_id, bank_id, number, run_id, base) select $1, bank.id, 1, run.id, 1 from `+
		`bank, run
), skill_stat as (
  insert into skill_stats (workspace_id, bank_id, skill_id, stats) select $1, bank.id, 'noop@0', to_jsonb($3::text) `+
		`from bank
), trained as (
  insert into training_steps (workspace_id, run_id, step, result) select $1, id, '0', to_jsonb($3::text) from run
), shown as (
  insert into run_conversations (workspace_id, run_id, conversation_id) select $1, run.id, conversation.id from `+
		`run, conversation
), soul as (
  insert into soul_versions (workspace_id, version, content, action, origin, op_id) values ($1, 1, $3, 'replace', `+
		`'user', 'op')
), doc as (
  insert into search_docs (workspace_id, kind, owner_id, status, text) select $1, 'skill', id, 'active', $3 from `+
		`skill returning doc
), stats as (
  insert into lex_stats (workspace_id, docs) values ($1, 1)
), term as (
  insert into lex_terms (workspace_id, term, df) values ($1, 7, 1)
), words as (
  insert into lex_docs (workspace_id, doc, keys, sv) select $1::bigint, doc, array[$1::bigint << 32 | 7], `+
		`'{8:1}/1000000000' from doc
), reembedded as (
  insert into reembed_progress (workspace_id, space, total) values ($1, $2, 1)
), refused as (
  insert into embed_refusals (workspace_id, doc, space, reason) select $1, doc, $2, $3 from doc
)
insert into embeddings (workspace_id, doc, space, v) select $1, doc, $2, '[1,0,0]' from doc`, ws.ID, space, secret)
}

// tenantTables are the tables whose rows belong to workspaces, partitions left out.
func (b *bundle) tenantTables() []string {
	b.t.Helper()
	return b.texts(`select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = ` +
		`'workspace_id'
where c.relnamespace = 'cairn'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`)
}
