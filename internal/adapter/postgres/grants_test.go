package postgres_test

// reviewedGrants are all privileges of roles except the owner. Nothing is granted on a partition: a
// policy on the parent does not protect a child that is read directly. Append-only tables have no
// update and no delete; versions are only pruned, never changed.
var reviewedGrants = []string{
	"agent_calls cairn_app: insert, select, update(code ended_at result)",
	"agent_steps cairn_app: insert, select",
	"api_keys cairn_app: insert, select, update(expires_at last_used_at revoked_at)",
	"audit_events cairn_app: insert, select",
	"audit_events cairn_system: insert, select",
	"bank_versions cairn_app: insert, select",
	"banks cairn_app: insert, select, update(head)",
	"cases cairn_app: insert, select, update(category conversation_id evidence failed_at failures gold iteration " +
		"op_id prediction retrieved run_id score source state updated_at)",
	"cases cairn_system: select(failures state workspace_id)",
	"compactions cairn_app: insert, select",
	"conversation_marks cairn_app: insert, select, update(run_id seq updated_at)",
	"conversation_marks cairn_system: select(conversation_id kind seq workspace_id)",
	"conversations cairn_system: select(channel dated id last_turn_at next_seq workspace_id)",
	"conversations cairn_app: insert, select, update(closed_at counted counters dated last_turn_at next_seq " +
		"next_turn notice reviewed_turn title)",
	"decision_outcomes cairn_app: delete, insert, select",
	"decisions cairn_app: insert, select, update(outcome update_run)",
	"decisions cairn_system: select(sampled update_run workspace_id)",
	"distill_files cairn_app: delete, insert, select, update",
	"distill_tasks cairn_app: insert, select, update",
	"embedding_spaces cairn_app: select",
	"embedding_spaces cairn_system: select",
	"embed_refusals cairn_app: delete, insert, select",
	"embeddings cairn_app: delete, insert, select, update",
	"evolution_rounds cairn_app: insert, select, update(analysis candidate comparison conversations ended_at mined " +
		"note outcome proposal)",
	"failure_memos cairn_app: delete, insert, select, update(code created_at reason)",
	"frozen_sessions cairn_app: insert, select, update(revoked_at)",
	"history_chunks cairn_app: insert, select",
	"identity_versions cairn_app: insert, select",
	"lex_docs cairn_app: delete, insert, select, update",
	"lex_stats cairn_app: delete, insert, select, update",
	"lex_terms cairn_app: delete, insert, select, update",
	"llm_calls cairn_app: insert, select, update",
	"lex_stats cairn_system: select",
	"lex_docs cairn_index: select",
	"llm_calls cairn_system: select(lease_until round run_id state step unknown workspace_id), update(state unknown)",
	"memories cairn_app: insert, select, update(author content content_sha256 embedded_field event_time " +
		"last_retrieved_at metadata op_id retrieve_count status superseded_by tainted targets updated_at version " +
		"when_to_use)",
	"memories cairn_system: select(status updated_at workspace_id)",
	"memory_histories cairn_app: insert, select",
	"memory_leases cairn_app: insert, select, update(fence holder lease_until)",
	"memory_refs cairn_app: delete, insert, select",
	"memory_revisions cairn_app: insert, select",
	"memory_skills cairn_app: insert, select",
	"memory_targets cairn_app: delete, insert, select, update(aliases description last_summary_at last_used_at)",
	"memory_views cairn_app: insert, select",
	"messages cairn_app: insert, select",
	"note_recalls cairn_app: insert, select, update(last_at recalls relevance)",
	"operator_keys cairn_system: insert, select(created_at expires_at hint id last_used_at name revoked_at scopes), " +
		"update(last_used_at revoked_at)",
	"outbox cairn_app: delete, insert, select, update",
	"outbox cairn_system: delete, select, update(attempts due_at failed_since failures last_error)",
	"offload_blobs cairn_app: insert, select, update(expires_at)",
	"offload_blobs cairn_system: delete, select(expires_at sha256 workspace_id)",
	"offload_uses cairn_app: insert, select, update(label)",
	"packages cairn_app: delete, insert, select, update(state touched_at)",
	"packages cairn_system: select(sha256 state touched_at workspace_id)",
	"pending_memories cairn_app: insert, select, update(decided_at state)",
	"pending_writes cairn_app: insert, select, update(decided_at state)",
	"policies cairn_app: delete, insert, select",
	"policy_updates cairn_app: insert, select, update(canary canary_at ended_at note shadow state)",
	"policy_updates cairn_system: select(canary_at state workspace_id)",
	"probes cairn_app: insert, select, update(ended_at note score state)",
	"reembed_progress cairn_app: insert, select, update",
	"reflection_reads cairn_app: delete, insert, select, update(state to_seq)",
	"reflection_runs cairn_app: insert, select, update(conversations empty_week failures from_at memories messages " +
		"notes reason run_id skills status to_at updated_at zone)",
	"reflection_runs cairn_system: insert(empty_week from_at local_date status to_at workspace_id zone), " +
		"select(empty_week failures local_date status to_at updated_at workspace_id)",
	"run_conversations cairn_app: insert, select",
	"runs cairn_app: insert, select, update",
	"runs cairn_system: select(kind opened_at status)",
	"runs_id_seq cairn_app: select",
	"scheduled_tasks cairn_app: delete, insert, select, update(claim due_at due_date due_key lease_until paused_at " +
		"slot_at slot_date slot_key slot_outcome slot_reason start_at updated_at)",
	"scheduled_tasks cairn_system: select(catch_up claim cron due_at due_date due_key id kind lease_until look_at " +
		"paused_at slot_at slot_date slot_key slot_outcome slot_reason start_at time_zone workspace_id), " +
		"update(claim due_at due_date due_key lease_until slot_at slot_date slot_key slot_outcome slot_reason " +
		"start_at updated_at)",
	"search_docs cairn_app: delete, insert, select, update",
	"skill_files cairn_app: delete, insert, select",
	"skill_sources cairn_app: delete, insert, select",
	"skill_stats cairn_app: insert, select, update(stats updated_at)",
	"skill_uses cairn_app: insert, select, update(outcome)",
	"skill_versions cairn_app: delete, insert, select",
	"skill_views cairn_app: delete, insert, select",
	"skills cairn_app: insert, select, update(absorbed_into category deleted_at eta head_version last_used_at " +
		"managed passes pinned status tainted trials updated_at uses)",
	"skills cairn_system: select(deleted_at managed workspace_id)",
	"soul_versions cairn_app: insert, select",
	"store_state cairn_app: select",
	"store_state cairn_system: select, update(lost_commits)",
	"sweep_pages cairn_system: delete, insert, select, update(empty looked more skipped taken)",
	"tool_op_log cairn_app: insert, select, update",
	"training_steps cairn_app: delete, insert, select",
	"turns cairn_system: select(accepted_at origin workspace_id)",
	"turns cairn_app: insert, select, update(context ended_at facts reason reply_seq status tainted)",
	"votes cairn_app: insert, select, update(burst case_id conversation_id decisions failures op_id run_id source " +
		"voted_at)",
	"workspaces cairn_app: select, update(identity_version previous_space_id previous_until reflection_cron " +
		"sessions_epoch settings soul_version space_id time_zone)",
	"workspaces cairn_system: select(created_at external_id id key quiet_from quiet_to reflection_cron reflects " +
		"state time_zone undo_days)",

	// In addition to delete and select, which cairn_erase has on every table with rows of
	// workspaces.
	"identity_versions cairn_erase: delete, select, update(history_id run_id)",
	"conversations cairn_erase: delete, select, update(external_id notice title)",
	"messages cairn_erase: delete, select, update(content name tool_calls)",
	"runs cairn_erase: delete, select, update(result spec)",
	"turns cairn_erase: delete, select, update(context)",
	"erase_items cairn_erase: delete, insert, select",
	"distill_tasks cairn_erase: delete, select, update(draft package)",
	"erase_rules cairn_erase: select",
	"erasures cairn_erase: insert, select, update",
	"erasures cairn_system: select(affected conversation conversation_at deleted derived ended_at id objects " +
		"objects_left remaining requested_at state subject token workflows workflows_left workspace workspace_key)",
	"frozen_sessions cairn_erase: delete, select, update(rendered revoked_at tools)",
	"lex_stats cairn_erase: delete, select, update(docs)",
	"lex_terms cairn_erase: delete, select, update(df speakers)",
	"memories cairn_erase: delete, select, update(conversation_id from_seq history_id run_id status to_seq)",
	"memory_revisions cairn_erase: delete, select, update(conversation_id from_seq run_id to_seq)",
	"packages cairn_erase: delete, select, update(state touched_at)",
	"search_docs cairn_erase: delete, select, update(status)",
	"skill_versions cairn_erase: delete, select, update(run_id task_key)",
	"skills cairn_erase: delete, select, update(status)",
	"soul_versions cairn_erase: delete, select, update(conversation_id from_seq run_id to_seq)",
	"workspaces cairn_erase: delete, select, update(identity_version sessions_epoch state)",
}
