package store_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/internal/testkit"
)

// The lists of this file were reviewed. A new table, policy, grant or function fails here until it
// is reviewed.

// unprotected are the tables of schema cairn without rows of workspaces.
var unprotected = []string{"goose_db_version"}

// direct is the only form of a tenant policy: the planner sees a stable value, and ” means no workspace.
var direct = regexp.MustCompile(`^\((workspace_id|id) = \(NULLIF\(current_setting\('cairn\.workspace'::text, ` +
	`true\), ''::text\)\)::bigint\)$`)

// reviewedPolicies are all others: table.policy to roles for command using check.
var reviewedPolicies = []string{
	"api_keys.api_keys_definer {cairn_owner} r true -", // resolve_key: only the owner of a key has its hash
	// what has expired: IDs and times
	"attachments.attachments_system_purge {cairn_system} d (expires_at < now()) -",
	"attachments.attachments_system_see {cairn_system} r (expires_at < now()) -",
	// migrations
	"audit_events.audit_events_definer {cairn_owner} a - (workspace_id IS NULL)",
	// acts of operators, and erasures, which have entered their workspace
	"audit_events.audit_events_system_add {cairn_system} a - ((workspace_id IS NULL) OR (workspace_id = " +
		"(NULLIF(current_setting('cairn.workspace'::text, true), ''::text))::bigint))",
	"audit_events.audit_events_system_see {cairn_system} r ((workspace_id IS NULL) OR (workspace_id = " +
		"(NULLIF(current_setting('cairn.workspace'::text, true), ''::text))::bigint)) -",
	// resolve_console_session and resolve_console_code: only the owner of a cookie or a code has its hash
	"console_codes.console_codes_definer {cairn_owner} r true -",
	"console_sessions.console_sessions_definer {cairn_owner} r true -",
	"conversation_marks.conversation_marks_system {cairn_system} r (kind = 'reflection'::text) -",
	// which workspaces have something to evolve from
	"cases.cases_system {cairn_system} r ((state = 'open'::text) AND (failures > 0)) -",
	// the sweep: ids, sequence numbers and times
	"conversations.conversations_system {cairn_system} r true -",
	"decisions.decisions_system {cairn_system} r (sampled AND (update_run IS NULL)) -", // and which to learn from
	// count_spend and reserve_call: numbers of the workspace that is entered, or whose call is changed
	"call_days.call_days_definer {cairn_owner} * (workspace_id = " +
		"(NULLIF(current_setting('cairn.workspace'::text, true), ''::text))::bigint) -",
	// days whose limits are over: IDs and days
	"call_days.call_days_system_purge {cairn_system} d (day < (((now() AT TIME ZONE 'UTC'::text))::date - 7)) -",
	"call_days.call_days_system_see {cairn_system} r (day < (((now() AT TIME ZONE 'UTC'::text))::date - 7)) -",
	// count_spend and deployment_spend: numbers of all workspaces together
	"deployment_spend.deployment_spend_definer {cairn_owner} * true true",
	// open_adds: numbers of all workspaces together
	"runs.runs_adds_definer {cairn_owner} r ((kind = 'summarize'::text) AND (status <> 'ended'::text)) -",
	// the list of models is not secret
	"embedding_spaces.embedding_spaces_all {public} * true true",
	// the columns that refer to a conversation are not secret
	"erase_rules.erase_rules_all {public} * true true",
	// numbers only, of erased workspaces
	"erase_item_runs.erase_item_runs_erase {cairn_erase} * true true",
	"erase_items.erase_items_erase {cairn_erase} * true true",
	"erasures.erasures_erase {cairn_erase} * true true",
	"erasures.erasures_system {cairn_system} r true -",
	// lex_candidates checks the workspace of every key
	"lex_docs.lex_docs_index {cairn_index} r true -",
	// which workspaces are big enough for a graph, or were not counted for a week
	"lex_stats.lex_stats_system {cairn_system} r ((docs >= 10000) OR (counted_at < (now() - '7 days'::interval))) -",
	"llm_calls.llm_calls_system_see {cairn_system} r (state = ANY (ARRAY['started'::text, 'unknown'::text])) -",
	"llm_calls.llm_calls_system_expire {cairn_system} w (state = 'started'::text) (state = 'unknown'::text)",
	// what has expired: hashes and times
	"offload_blobs.offload_blobs_system_purge {cairn_system} d (expires_at < now()) -",
	"offload_blobs.offload_blobs_system_see {cairn_system} r (expires_at < now()) -",
	// the functions that remove records after their retention: they return numbers
	"agent_calls.agent_calls_prune {cairn_prune} * true -",
	"agent_steps.agent_steps_prune {cairn_prune} * true -",
	"audit_events.audit_events_prune_see {cairn_prune} r true -",
	"audit_events.audit_events_prune {cairn_prune} d true -",
	"distill_files.distill_files_prune {cairn_prune} * true -",
	"distill_tasks.distill_tasks_prune {cairn_prune} * true true",
	"llm_calls.llm_calls_prune {cairn_prune} * true -",
	"request_parts.request_parts_prune {cairn_prune} * true -",
	"runs.runs_prune {cairn_prune} * true true",
	"tool_op_log.tool_op_log_prune {cairn_prune} * true -",
	// what was handled or sent long ago: IDs and times
	"channel_events.channel_events_system_claim {cairn_system} w (files_until IS NOT NULL) -",
	"channel_events.channel_events_system_files {cairn_system} r (files_until IS NOT NULL) -",
	"channel_events.channel_events_system_purge {cairn_system} d ((state = 'handled'::text) AND (received_at < " +
		"(now() - '90 days'::interval))) -",
	"channel_events.channel_events_system_see {cairn_system} r ((state = 'handled'::text) AND (received_at < " +
		"(now() - '90 days'::interval))) -",
	"deliveries.deliveries_system_purge {cairn_system} d ((state = ANY (ARRAY['sent'::text, 'dropped'::text])) AND " +
		"(ended_at < (now() - '90 days'::interval))) -",
	"deliveries.deliveries_system_see {cairn_system} r ((state = ANY (ARRAY['sent'::text, 'dropped'::text])) AND " +
		"(ended_at < (now() - '90 days'::interval))) -",
	// the gateway looks up operators' keys, and the command line manages them; the hash is not readable
	"channel_accounts.channel_accounts_system {cairn_system} * true true",
	// resolve_gateway_key: only the owner of a key has its hash
	"identities.identities_definer {cairn_owner} r true -",
	"identities.identities_system_link {cairn_system} w true true", // linking moves a user to another workspace
	// withdraw_message: in the workspace that the caller has entered
	"conversations.conversations_withdraw {cairn_owner} r (workspace_id = " +
		"(NULLIF(current_setting('cairn.workspace'::text, true), ''::text))::bigint) -",
	"messages.messages_withdraw {cairn_owner} w (workspace_id = " +
		"(NULLIF(current_setting('cairn.workspace'::text, true), ''::text))::bigint) -",
	"messages.messages_withdraw_see {cairn_owner} r (workspace_id = " +
		"(NULLIF(current_setting('cairn.workspace'::text, true), ''::text))::bigint) -",
	"identities.identities_system {cairn_system} r true -", // a sender is looked up before its workspace is known
	"pairings.pairings_system {cairn_system} * true true",
	"operator_keys.operator_keys_definer {cairn_owner} r true -",
	"operator_keys.operator_keys_system {cairn_system} * true true",
	"outbox.outbox_system {cairn_system} * true -",
	"packages.packages_system {cairn_system} r (state <> 'live'::text) -",
	"policy_updates.policy_updates_system {cairn_system} r (state = 'canary'::text) -", // and to judge
	// a day without messages
	"reflection_runs.reflection_runs_system_empty {cairn_system} a - (status = 'empty'::text)",
	"reflection_runs.reflection_runs_system_see {cairn_system} r true -",
	// what has expired: IDs and times
	"reply_chunks.reply_chunks_system_purge {cairn_system} d (created_at < (now() - '00:10:00'::interval)) -",
	"reply_chunks.reply_chunks_system_see {cairn_system} r (created_at < (now() - '00:10:00'::interval)) -",
	"runs.runs_system {cairn_system} r (status <> 'ended'::text) -",
	// the incarnation of the database, of no workspace
	"store_state.store_state_app {cairn_app} r true -",
	"store_state.store_state_owner {cairn_owner} * true true",
	"store_state.store_state_system {cairn_system} * true -",
	"turns.turns_system {cairn_system} r (origin = 'user'::text) -", // whether conversations took place
	// open_workspace: the built-in tasks
	"scheduled_tasks.scheduled_tasks_definer {cairn_owner} a - (kind <> 'turn'::text)",
	"scheduled_tasks.scheduled_tasks_system_advance {cairn_system} w true -",
	"scheduled_tasks.scheduled_tasks_system_see {cairn_system} r true -",
	// which workspaces have something to erase permanently
	"memories.memories_system_gone {cairn_system} r (status = 'removed'::text) -",
	"skills.skills_system_gone {cairn_system} r (deleted_at IS NOT NULL) -",
	// which workspaces have something to curate
	"skills.skills_system {cairn_system} r (managed AND (deleted_at IS NULL)) -",
	"sweep_pages.sweep_pages_system {cairn_system} * true -", // numbers of a page, of no workspace
	// numbers, states, times and codes for operators: cairn_support reads these columns only
	"conversations.conversations_support {cairn_support} r true -",
	"llm_calls.llm_calls_support {cairn_support} r true -",
	"memories.memories_support {cairn_support} r true -",
	"outbox.outbox_support {cairn_support} r true -",
	"runs.runs_support {cairn_support} r true -",
	"skills.skills_support {cairn_support} r true -",
	"workspaces.workspaces_support {cairn_support} r true -",
	"operator_sessions.operator_sessions_owner {cairn_owner} * true true",
	"operator_sessions.operator_sessions_system {cairn_system} * true true",
	// which queues have a worker, of no workspace
	"worker_beats.worker_beats_app {cairn_app} r true -",
	"worker_beats.worker_beats_owner {cairn_owner} * true true",
	"worker_beats.worker_beats_system {cairn_system} * true true",
	// open_workspace: only a name is known
	"workspaces.workspaces_definer {cairn_owner} * true true",
	"workspaces.workspaces_system {cairn_system} r true -",
}

// reviewedFunctions are all of schema cairn: name, security, search_path.
var reviewedFunctions = []string{
	"count_spend definer search_path=cairn, pg_catalog, pg_temp",
	"deployment_spend definer search_path=cairn, pg_catalog, pg_temp",
	"reserve_call definer search_path=cairn, pg_catalog, pg_temp",
	"prune_audit definer search_path=cairn, pg_catalog, pg_temp",
	"prune_calls definer search_path=cairn, pg_catalog, pg_temp",
	"prune_operations definer search_path=cairn, pg_catalog, pg_temp",
	"prune_runs definer search_path=cairn, pg_catalog, pg_temp",
	"support_errors definer search_path=cairn, pg_catalog, pg_temp",
	"support_workspaces definer search_path=cairn, pg_catalog, pg_temp",
	"request_of invoker search_path=cairn, pg_catalog, pg_temp",
	"open_adds definer search_path=cairn, pg_catalog, pg_temp",
	"audit_migration invoker search_path=cairn, pg_catalog, pg_temp",
	"cover_erase invoker search_path=cairn, pg_catalog, pg_temp",
	"derived_of invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_accept definer search_path=cairn, pg_catalog, pg_temp",
	"erase_accept_subject definer search_path=cairn, pg_catalog, pg_temp",
	"erase_add_runs invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_conversation_runs invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_conversation_docs invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_conversations definer search_path=cairn, pg_catalog, pg_temp",
	"erase_covers invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_listed definer search_path=cairn, pg_catalog, pg_temp",
	"erase_memories invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_memory_runs invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_readers invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_placed invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_places invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_requests definer search_path=cairn, pg_catalog, pg_temp",
	"resolve_console_code definer search_path=cairn, pg_catalog, pg_temp",
	"resolve_console_session definer search_path=cairn, pg_catalog, pg_temp",
	"resolve_gateway_key definer search_path=cairn, pg_catalog, pg_temp",
	"transcribe_message definer search_path=cairn, pg_catalog, pg_temp",
	"withdraw_message definer search_path=cairn, pg_catalog, pg_temp",
	"erase_runs invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_scope invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_sessions invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_shared invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_skills invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_subject definer search_path=cairn, pg_catalog, pg_temp",
	"erase_subject_docs invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_conversation definer search_path=cairn, pg_catalog, pg_temp",
	"erase_identity definer search_path=cairn, pg_catalog, pg_temp",
	"empty_week invoker search_path=cairn, pg_catalog, pg_temp",
	"event_time invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_count invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_deleted definer search_path=cairn, pg_catalog, pg_temp",
	"erase_deleted_at_once definer search_path=cairn, pg_catalog, pg_temp",
	"erase_derived definer search_path=cairn, pg_catalog, pg_temp",
	"erase_docs invoker search_path=cairn, pg_catalog, pg_temp",
	"erase_end definer search_path=cairn, pg_catalog, pg_temp",
	"erase_enter definer search_path=cairn, pg_catalog, pg_temp",
	"erase_note definer search_path=cairn, pg_catalog, pg_temp",
	"erase_package_rows definer search_path=cairn, pg_catalog, pg_temp",
	"erase_packages definer search_path=cairn, pg_catalog, pg_temp",
	"erase_repeat definer search_path=cairn, pg_catalog, pg_temp",
	"erase_rows definer search_path=cairn, pg_catalog, pg_temp",
	"erase_rows_of definer search_path=cairn, pg_catalog, pg_temp",
	"erase_tables invoker search_path=cairn, pg_catalog, pg_temp",
	"enter invoker search_path=cairn, pg_catalog, pg_temp",
	"candidate_docs invoker search_path=cairn, public, pg_catalog, " +
		"pg_temp;plan_cache_mode=force_generic_plan;enable_seqscan=off;enable_mergejoin=off;jit=off",
	"lex_candidates definer search_path=cairn, public, pg_catalog, pg_temp;enable_seqscan=off;jit=off",
	"nearest invoker search_path=cairn, public, pg_catalog, " +
		"pg_temp;plan_cache_mode=force_generic_plan;enable_seqscan=off;jit=off",
	"graph_bytes invoker search_path=cairn, public, pg_catalog, pg_temp",
	"many_documents invoker -",
	"nearest_in_graph invoker search_path=cairn, public, pg_catalog, pg_temp;enable_sort=off;jit=off",
	"nearest_of_many invoker search_path=cairn, public, pg_catalog, pg_temp;enable_seqscan=on;jit=off;enable_sort=on",
	"open_space definer search_path=cairn, public, pg_catalog, pg_temp",
	"open_workspace definer search_path=cairn, pg_catalog, pg_temp",
	"rank_docs invoker search_path=cairn, public, pg_catalog, " +
		"pg_temp;plan_cache_mode=force_generic_plan;enable_seqscan=on;enable_nestloop=off;enable_mergejoin=off;" +
		"jit=off",
	"recount_terms invoker search_path=cairn, public, pg_catalog, pg_temp",
	"retire_space invoker search_path=cairn, public, pg_catalog, pg_temp;lock_timeout=1s",
	"require_incarnation invoker search_path=cairn, pg_catalog, pg_temp",
	"require_role invoker search_path=pg_catalog, pg_temp",
	"resolve_key definer search_path=cairn, pg_catalog, pg_temp",
	"resolve_operator_key definer search_path=cairn, pg_catalog, pg_temp",
	"schema_version definer search_path=cairn, pg_catalog, pg_temp",
	"session_roles invoker -",
	"vector_graphs invoker search_path=cairn, public, pg_catalog, pg_temp",
	"vector_index invoker -",
	"vector_index_drop invoker -",
	"vector_index_statement invoker search_path=cairn, public, pg_catalog, pg_temp",
}

func TestEveryTableIsProtected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Space(t.Context(), "m", 4) // makes a partition
	testkit.Must(t, err)
	tables := b.texts(`select format('%s %s %s %s', c.relname, c.relrowsecurity, c.relforcerowsecurity, exists ` +
		`(select from pg_policy p where p.polrelid = c.oid))
from pg_class c where c.relnamespace = 'cairn'::regnamespace and c.relkind in ('r', 'p', 'm', 'f') order by 1`)
	if len(tables) < 20 || !slices.ContainsFunc(tables, func(s string) bool {
		return strings.HasPrefix(s, "embeddings_space_1 ")
	}) {
		t.Fatalf("the catalogue shows %q", tables)
	}
	for _, line := range tables {
		name, state, _ := strings.Cut(line, " ")
		if state != "t t t" && !slices.Contains(unprotected, name) {
			t.Errorf("%s: row security, forced, policy: %s", name, state)
		}
	}
	for _, name := range unprotected {
		if grants := b.texts("select grantee::text from information_schema.role_table_grants where table_schema = "+
			"'cairn' and table_name = $1 and grantee <> 'cairn_owner'", name); len(grants) != 0 {
			t.Errorf("%s has no policies and is granted to %v", name, grants)
		}
	}
	if views := b.texts("select viewname::text from pg_views where schemaname = 'cairn'"); len(views) != 0 {
		t.Errorf("views %v: reviewed ones need security_invoker", views)
	}
	if owners := b.texts("select distinct tableowner::text from pg_tables where schemaname = 'cairn'"); !slices.Equal(
		owners, []string{"cairn_owner"}) {
		t.Errorf("tables belong to %v", owners)
	}
}

func TestPoliciesAreTheDirectForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Space(t.Context(), "m", 4)
	testkit.Must(t, err)
	var others []string
	for _, line := range b.texts(`select concat_ws('|', c.relname, p.polname, (select array_agg(coalesce(r.rolname, ` +
		`'public') order by 1) from unnest(p.polroles) o left join pg_roles r on r.oid = o)::text,
  p.polcmd, p.polpermissive, coalesce(pg_get_expr(p.polqual, p.polrelid), '-'), ` +
		`coalesce(pg_get_expr(p.polwithcheck, p.polrelid), '-'))
from pg_policy p join pg_class c on c.oid = p.polrelid where c.relnamespace = 'cairn'::regnamespace order by 1`) {
		f := strings.Split(line, "|")
		if f[4] != "t" {
			t.Errorf("%s: a restrictive policy", line)
		}
		if (f[2] == "{cairn_app}" || f[2] == "{cairn_erase}") && f[3] == "*" && direct.MatchString(f[5]) &&
			f[6] == "-" {
			continue
		}
		others = append(others, f[0]+"."+strings.Join([]string{f[1], f[2], f[3], f[5], f[6]}, " "))
	}
	compare(t, "policies", others, reviewedPolicies)
}

func TestGrantsAreTheReviewedOnes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Space(t.Context(), "m", 4)
	testkit.Must(t, err)
	// of every table: TestEveryTableIsErased
	erased := func(line string) bool { return strings.HasSuffix(line, " cairn_erase: delete, select") }
	compare(t, "grants", slices.DeleteFunc(b.grants(), erased), reviewedGrants)
}

func TestFunctionsAreTheReviewedOnes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	compare(t, "functions", b.texts(`select concat_ws(' ', p.proname, case when p.prosecdef then 'definer' else `+
		`'invoker' end, coalesce(array_to_string(p.proconfig, ';'), '-'))
from pg_proc p where p.pronamespace = 'cairn'::regnamespace order by 1`), reviewedFunctions)
	compare(t, "definer functions that are not cairn_owner's",
		b.texts(`select p.proname || ' ' || pg_get_userbyid(p.proowner) from pg_proc p
where p.pronamespace = 'cairn'::regnamespace and p.prosecdef and p.proname not like 'erase\_%' and p.proowner <> `+
			`'cairn_owner'::regrole
union all select p.proname || ' ' || pg_get_userbyid(p.proowner) from pg_proc p
where p.pronamespace = 'cairn'::regnamespace and p.prosecdef and p.proname like 'erase\_%' and p.proowner <> `+
			`'cairn_erase'::regrole`), []string{"lex_candidates cairn_index", "prune_audit cairn_prune",
			"prune_calls cairn_prune", "prune_operations cairn_prune", "prune_runs cairn_prune",
			"support_errors cairn_support", "support_workspaces cairn_support"})
	compare(t, "definer functions that public may call", b.texts(`select p.proname::text from pg_proc p
where p.pronamespace = 'cairn'::regnamespace and p.prosecdef and (p.proacl is null or exists (select from `+
		`aclexplode(p.proacl) a where a.grantee = 0))`), nil)
}

// A temporary table of the same name would come first in a search path that does not list pg_temp,
// with any content the caller chooses.
func TestATemporaryTableCannotStandInForARealOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	app := b.as("cairn_app")
	b.exec("update workspaces set state = 'erasing' where id = $1", b.a.ID)
	app.do("create temp table workspaces as select $1::bigint as id, 'a'::text as external_id, 'forged'::text as "+
		"key, 'active'::text as state", b.a.ID)
	app.do("grant all on pg_temp.workspaces to public")
	app.refuses("CA001", "select cairn.enter($1)", b.a.ID)
	if n := app.number("select count(*) from cairn.open_workspace('a', false) where ws_key <> 'forged'"); n != 1 {
		t.Error("open_workspace read the caller's own table")
	}
}

// Under row-level security a GIN index is not used, since @@ is
// not leakproof, and an HNSW index shared by workspaces gives too few rows.
func TestEveryIndexIsOfAKindThatPoliciesLeaveUsable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Space(t.Context(), "m", 4)
	testkit.Must(t, err)
	compare(t, "indexes that are no b-tree",
		b.texts(`select i.relname || ' ' || am.amname from pg_class i join pg_am am on am.oid = i.relam
where i.relnamespace = 'cairn'::regnamespace and i.relkind in ('i', 'I') and am.amname <> 'btree'`),
		[]string{"lex_docs_keys gin"}) // used by lex_candidates only, as cairn_index
	compare(t, "columns for text search", b.texts("select table_name || '.' || column_name from "+
		"information_schema.columns where table_schema = 'cairn' and data_type in ('tsvector', 'tsquery')"), nil)
}

// Every reference between rows of workspaces stays inside one.
func TestReferencesStayInsideAWorkspace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	loose := b.texts(`select c.conrelid::regclass || '.' || c.conname from pg_constraint c
where c.contype = 'f' and c.connamespace = 'cairn'::regnamespace
  and exists (select from pg_attribute a where a.attrelid = c.confrelid and a.attname = 'workspace_id')
  and not exists (select from pg_attribute a where a.attrelid = c.conrelid and a.attname = 'workspace_id' and ` +
		`a.attnum = any(c.conkey))`)
	compare(t, "references without the workspace", loose, nil)
	app := b.as("cairn_app")
	app.do("begin")
	app.do("select cairn.enter($1)", b.b.ID)
	app.refuses("23503", "insert into messages (workspace_id, conversation_id, seq, external_id, role, content) "+
		"values ($1, $2, 1, '1', 'user', '')",
		b.b.ID, b.number("select id from conversations where workspace_id = $1", b.a.ID))
}

func TestTheSystemRoleReadsNoTexts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	system := b.as("cairn_system")
	for _, read := range []string{
		"select content from messages", "select title from conversations", "select request from llm_calls",
		"select reply from llm_calls", "select tool_calls from llm_calls", "select label from llm_calls",
		"select error from llm_calls", "select body from skill_versions", "select description from skill_versions",
		"select content from skill_files", "select content from distill_files",
		"select name from distill_tasks", "select draft from distill_tasks", "select text from search_docs",
		"select v from embeddings", "select v from embeddings_space_1",
		"select content from memories", "select content from memory_revisions",
		"select operations from pending_memories", "select content from soul_versions",
		"select rendered from frozen_sessions", "select context from turns", "select content from agent_steps",
		"select body from reply_chunks",
		"select arguments from agent_calls", "select notice from conversations", "select skill_id from skill_views",
		"select prompt from scheduled_tasks", "select name from scheduled_tasks", "select reason from reflection_runs",
		"select name from skills", "select external_id from conversations", "select target from memory_targets",
		"select content from identity_versions", "select id from memory_histories",
		"select history_id from memory_refs", "select holder from memory_leases",
		"select content from attachments", "select sha256 from attachments", "select content from imports",
		"select content from trace_spans",
		"select content from offload_blobs", "select label from offload_uses", "select content from compactions",
		"select version from pending_writes", "select reason from failure_memos", "select hash from api_keys",
		"select hash from operator_keys", "update operator_keys set scopes = '{codec}'", "delete from operator_keys",
		"select cairn.resolve_key('x')", "select spec from runs", "select id from runs",
		"select workspace_id from runs", "select reason from runs", "select result from tool_op_log",
		"select settings from workspaces", "select key from packages", "select * from llm_calls",
		"update llm_calls set reply = 'x'", "update outbox set key = '7'",
		"insert into outbox (workspace_id, kind, key) values (1, 'drive', '1')",
		"select cairn.open_workspace('a', true)"} {
		system.refuses("42501", read)
	}
	if n := system.number("select count(*) from (select due_at, kind, key from outbox) x"); n != 1 {
		t.Errorf("sees %d duties, want 1", n)
	}
}

// Postgres stores NaN and infinities in floating point columns; encoding them as JSON fails, and one of
// them in a sum or an order changes all. Vectors need no check: pgvector refuses them.
func TestFloatingPointColumnsRefuseWhatIsNotFinite(t *testing.T) {
	t.Parallel()
	b := setup(t)
	columns := b.texts(`select concat_ws('|', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
  (select string_agg(pg_get_expr(k.conbin, k.conrelid), ' and ') from pg_constraint k
   where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]))
from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace = 'cairn'::regnamespace
  and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
  and a.atttypid in ('float4'::regtype, 'float8'::regtype, 'numeric'::regtype,
    'float4[]'::regtype, 'float8[]'::regtype, 'numeric[]'::regtype) order by 1`)
	if len(columns) < 8 {
		t.Fatalf("the catalogue shows %q", columns)
	}
	for _, line := range columns {
		f := strings.Split(line, "|")
		if len(f) < 4 {
			t.Errorf("%s.%s %s has no check of its own", f[0], f[1], f[2])
			continue
		}
		for _, value := range []string{"NaN", "Infinity", "-Infinity", "1e30"} {
			if b.number("select count(*) from (select $1::text::"+f[2]+" as "+f[1]+") x where "+f[3], value) != 0 {
				t.Errorf("%s.%s accepts %s: %s", f[0], f[1], value, f[3])
			}
		}
		if b.number("select count(*) from (select 0.5::"+f[2]+" as "+f[1]+") x where "+f[3]) != 1 {
			t.Errorf("%s.%s refuses 0.5: %s", f[0], f[1], f[3])
		}
	}
	app := b.as("cairn_app") // and the constraints are in force
	for _, insert := range []string{
		"insert into conversations (workspace_id, external_id, reward) values ($1, 'nan', 'NaN')",
		"insert into conversations (workspace_id, external_id, reward) values ($1, 'inf', '-Infinity')",
		"insert into lex_terms (workspace_id, term, df, max_w) values ($1, 1, 1, 'Infinity')",
	} {
		app.do("begin")
		app.do("select cairn.enter($1)", b.a.ID)
		app.refuses("23514", insert, b.a.ID)
		app.do("rollback")
	}
}

// catalogue returns the content of all golden lists as one text.
func (b *bundle) catalogue() string {
	b.t.Helper()
	return strings.Join(slices.Concat(b.grants(),
		b.texts("select format('%s.%s %s %s %s', tablename, policyname, roles, qual, with_check) from pg_policies "+
			"where schemaname = 'cairn' order by 1"),
		b.texts("select format('%s.%s %s %s', table_name, column_name, data_type, column_default) from "+
			"information_schema.columns where table_schema = 'cairn' order by 1"),
		b.texts("select indexdef from pg_indexes where schemaname = 'cairn' order by 1")), "\n")
}

// grants lists the privileges of the two roles that serve requests, and of public: table role:
// privileges, a privilege on columns with their names.
func (b *bundle) grants() []string {
	b.t.Helper()
	return b.texts(`
with acl as (
  select c.oid, c.relname, a.grantee, a.privilege_type, null::text as columns from pg_class c, aclexplode(c.relacl) a
  where c.relnamespace = 'cairn'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  union all
  select c.oid, c.relname, a.grantee, a.privilege_type, string_agg(t.attname, ' ' order by t.attname) from pg_class ` +
		`c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
  where c.relnamespace = 'cairn'::regnamespace and not t.attisdropped group by 1, 2, 3, 4
)
select format('%s %s: %s', relname, coalesce(r.rolname, 'public'), string_agg(lower(privilege_type) || coalesce('(' ` +
		`|| columns || ')', ''), ', ' order by privilege_type))
from acl left join pg_roles r on r.oid = acl.grantee where r.rolname is distinct from 'cairn_owner' group by ` +
		`relname, r.rolname order by 1`)
}

// compare reports the lines that one side lacks.
func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s: not reviewed: %s", what, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("%s: gone: %s", what, line)
		}
	}
}
