package store_test

// reviewedGrants are all that anybody but the owner may do. Nothing is granted
// on a partition: a policy on the parent does not protect a child that is read
// directly. Append-only tables have no update and no delete.
var reviewedGrants = []string{
	"api_keys cairn_app: insert, select, update(revoked_at)",
	"conversations cairn_app: insert, select, update(next_seq title)",
	"distill_files cairn_app: delete, insert, select, update",
	"distill_tasks cairn_app: insert, select, update",
	"embedding_spaces cairn_app: select",
	"embedding_spaces cairn_system: select",
	"embeddings cairn_app: delete, insert, select, update",
	"failure_memos cairn_app: delete, insert, select, update(code created_at reason)",
	"lex_postings cairn_app: delete, insert, select, update",
	"lex_stats cairn_app: delete, insert, select, update",
	"lex_terms cairn_app: delete, insert, select, update",
	"llm_calls cairn_app: insert, select, update",
	"llm_calls cairn_system: select(lease_until round run_id state step unknown workspace_id), update(state unknown)",
	"messages cairn_app: insert, select",
	"outbox cairn_app: delete, insert, select, update",
	"outbox cairn_system: delete, select, update(attempts due_at last_error)",
	"packages cairn_app: delete, insert, select, update(state touched_at)",
	"packages cairn_system: select(sha256 state touched_at workspace_id)",
	"pending_writes cairn_app: insert, select, update(decided_at state)",
	"runs cairn_app: insert, select, update",
	"search_docs cairn_app: delete, insert, select, update",
	"skill_files cairn_app: insert, select",
	"skill_sources cairn_app: insert, select",
	"skill_uses cairn_app: insert, select, update(outcome)",
	"skill_versions cairn_app: insert, select",
	"skill_views cairn_app: insert, select",
	"skills cairn_app: insert, select, update(absorbed_into deleted_at eta head_version last_used_at managed passes pinned status tainted trials updated_at uses)",
	"tool_op_log cairn_app: insert, select, update",
	"workspaces cairn_app: select, update(settings time_zone)",
	"workspaces cairn_system: select(external_id id key state time_zone)",
}
