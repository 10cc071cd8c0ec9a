package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/readmodel"
	"cairn/internal/gateway/console"
	"cairn/internal/service/health"
	"cairn/internal/testkit"
)

// reasons returns the codes of what is wrong, in their order.
func (b *bundle) reasons() string {
	b.T.Helper()
	all, err := b.Health.Reasons(b.T.Context(), b.Workspace.ID)
	testkit.Must(b.T, err)
	var out []string
	for _, r := range all {
		if r.Effect == "" || r.Remedy == "" || r.Level == "" {
			b.T.Errorf("incomplete reason %+v", r)
		}
		out = append(out, string(r.Code))
	}
	return strings.Join(out, " ")
}

func (b *bundle) exec(sql string, args ...any) {
	b.T.Helper()
	_, err := b.Admin().Exec(b.T.Context(), sql, args...)
	testkit.Must(b.T, err)
}

// set changes settings of the workspace.
func (b *bundle) set(patch string) {
	b.T.Helper()
	_, err := b.Workspaces.ChangeSettings(b.T.Context(), b.Workspace.ID, []byte(patch))
	testkit.Must(b.T, err)
}

// comesAndGoes checks that a reason appears after cause, on the page too, and disappears after its remedy.
func (b *bundle) comesAndGoes(code readmodel.HealthCode, cause, remedy func()) {
	b.T.Helper()
	if got := b.reasons(); strings.Contains(got, string(code)) {
		b.T.Fatalf("%s before its cause: %s", code, got)
	}
	cause()
	if got := b.reasons(); !strings.Contains(got, string(code)) {
		b.T.Fatalf("no %s after its cause: %s", code, got)
	}
	b.get(b.at("")).is(http.StatusOK).has(console.LoadTexts(console.English).Raw("health."+string(code)), string(code))
	remedy()
	if got := b.reasons(); strings.Contains(got, string(code)) {
		b.T.Fatalf("%s after its remedy: %s", code, got)
	}
	b.get(b.at("")).is(http.StatusOK).lacks("<code>" + string(code) + "</code>")
}

func TestReasonsComeAndGo(t *testing.T) {
	t.Parallel()
	b := setup(t).signedIn(access.Admin)
	b.Health.ProbeValid = 0
	ctx := t.Context()
	b.comesAndGoes(readmodel.LearningFrozen,
		func() { b.set(`{"memory": {"builder": "skills", "learning": {"frozen": true}}}`) },
		func() { b.set(`{"memory": {"learning": {"frozen": null}}}`) })
	b.comesAndGoes(readmodel.LearningFrozen,
		func() {
			b.set(`{"memory": {"builder": "skills"}}`)
			_, err := b.Learning.Banks.Freeze(ctx, b.Workspace.ID, "default", true)
			testkit.Must(t, err)
		},
		func() {
			_, err := b.Learning.Banks.Freeze(ctx, b.Workspace.ID, "default", false)
			testkit.Must(t, err)
		})
	testkit.Must(t, b.Store.WorkerBeat(ctx, app.Queues()))
	b.comesAndGoes(readmodel.NoWorker,
		func() {
			b.exec("update cairn.worker_beats set seen_at = now() - interval '1 minute' where queue = $1", "cairn-llm")
		},
		func() { testkit.Must(t, b.Store.WorkerBeat(ctx, app.Queues())) })
	b.comesAndGoes(readmodel.OutboxStuck,
		func() {
			b.exec(`insert into cairn.outbox (workspace_id, kind, key, failures, failed_since, last_error)
  values ($1, 'settings', 'x', 10, now(), 'away')`, b.Workspace.ID)
		},
		func() { b.exec("delete from cairn.outbox where workspace_id = $1 and key = 'x'", b.Workspace.ID) })
	b.comesAndGoes(readmodel.EmbeddingBehind,
		func() {
			b.exec(`insert into cairn.outbox (workspace_id, kind, key, created_at) values ($1, 'embed', '77',
  now() - interval '10 minutes')`, b.Workspace.ID)
		},
		func() { b.exec("delete from cairn.outbox where workspace_id = $1 and key = '77'", b.Workspace.ID) })
	b.comesAndGoes(readmodel.ReflectionFailed,
		func() {
			b.exec(`insert into cairn.reflection_runs (workspace_id, local_date, zone, status, to_at, failures, reason)
  values ($1, current_date, 'UTC', 'failed', now(), 3, 'provider_error')`, b.Workspace.ID)
		},
		func() { b.exec("update cairn.reflection_runs set status = 'saved', failures = 0, reason = null") })
	b.comesAndGoes(readmodel.ReflectionUnheard,
		func() { b.exec("update cairn.reflection_runs set empty_week = true, status = 'empty'") },
		func() { b.exec("delete from cairn.reflection_runs") })
	b.comesAndGoes(readmodel.SchemaBehind,
		func() { b.exec("update cairn.goose_db_version set version_id = -version_id where version_id > 144") },
		func() { b.exec("update cairn.goose_db_version set version_id = -version_id where version_id < -144") })
	if got := b.reasons(); got != "" {
		t.Errorf("reasons at the end: %s", got)
	}
	b.get(b.at("")).has("Everything works.")
}

func TestTheSandboxIsMissed(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config.Config) { c.Shell = true }).signedIn(access.Read)
	b.comesAndGoes(readmodel.ShellUnavailable,
		func() { b.set(`{"tools": {"shell": true}}`) },
		func() { testkit.Must(t, b.Store.WorkerBeat(t.Context(), []string{contract.QueueSandbox})) })
	without := setup(t).signedIn(access.Read)
	without.set(`{"tools": {"shell": true}}`)
	without.get(without.at("")).has("CAIRN_SHELL is off", "Commands of skills cannot run")
}

func TestTemporalIsMissed(t *testing.T) {
	t.Parallel()
	var proxy *testkit.Proxy
	b := setup(t, func(c *config.Config) {
		if c.TemporalAddress != "" && proxy == nil {
			proxy = testkit.NewProxy(t, "tcp", c.TemporalAddress)
		}
		if proxy != nil {
			c.TemporalAddress = proxy.Address()
		}
	}).signedIn(access.Read)
	b.Health.ProbeValid = 0
	b.comesAndGoes(readmodel.TemporalUnreachable, proxy.Cut, func() {
		proxy.Restore()
		testkit.Eventually(t, "Temporal responds again", func() bool {
			return !strings.Contains(b.reasons(), string(readmodel.TemporalUnreachable))
		})
	})
}

func TestTheOfflineModelIsNamed(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config.Config) { c.BaseURL, c.APIKey = "", "" }).signedIn(access.Read)
	b.get(b.at("")).is(http.StatusOK).has("The offline model answers", "note", "offline_model")
}

// The model and the budget are those of real turns.
func TestModelErrorsAndBudgetsAreReasons(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Read)
	b.Health.ProbeValid = 0
	number := 10
	say := func() {
		number++
		f.Say(f.Thread, number, "Hello again.")
	}
	b.comesAndGoes(readmodel.BudgetExhausted,
		func() {
			b.set(`{"tokens_per_day": 1}`)
			say()
		},
		func() { b.set(`{"tokens_per_day": null}`) })
	b.comesAndGoes(readmodel.CallsUnknown,
		func() {
			b.exec(`update cairn.llm_calls set state = 'unknown', reply = null, unknown = 1 where run_id = $1
  and step = $2`, f.Turn, f.Step)
		},
		func() { b.exec("update cairn.llm_calls set state = 'done', reply = 'x' where state = 'unknown'") })
	b.comesAndGoes(readmodel.ModelErrors,
		func() {
			b.exec(`update cairn.llm_calls set state = 'failed', reply = null, error_class = 'auth', sent_at = now()
  where run_id = $1 and step = $2`, f.Turn, f.Step)
		}, say)
}

// A worker that starts is seen.
func TestAWorkerBeats(t *testing.T) {
	t.Parallel()
	b := setup(t).signedIn(access.Read)
	b.get(b.at("")).has(strings.Join(app.Queues(), ", "))
	b.Start()
	testkit.Eventually(t, "the worker is seen", func() bool {
		return !strings.Contains(b.reasons(), string(readmodel.NoWorker))
	})
}

// The texts of the pages say what the API says.
func TestReasonsAreTranslated(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config.Config) { c.BaseURL, c.APIKey = "", "" })
	texts := console.LoadTexts(console.English)
	for _, code := range health.Codes() {
		for _, prefix := range []string{"health.", "effects.", "remedy."} {
			if !texts.Has(prefix + string(code)) {
				t.Errorf("no text %s%s", prefix, code)
			}
		}
	}
	all, err := b.Health.Reasons(t.Context(), b.Workspace.ID)
	testkit.Must(t, err)
	for _, r := range all {
		if texts.Raw("effects."+string(r.Code)) != r.Effect || texts.Raw("remedy."+string(r.Code)) != r.Remedy {
			t.Errorf("%s has other texts: %s %s", r.Code, r.Effect, r.Remedy)
		}
	}
}

// The pages word every value that a column can have.
func TestEveryStoredValueIsTranslated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	texts := console.LoadTexts(console.English)
	for prefix, columns := range map[string][]string{"run": {"runs.kind"}, "outcome": {"runs.outcome"},
		"status": {"runs.status", "skills.status", "memories.status"}, "call": {"llm_calls.state"},
		"channel": {"conversations.channel"}, "origin": {"memories.origin", "skills.origin"},
		"role": {"messages.role"}, "type": {"memories.type"}, "skillop": {"skill_versions.op"},
		"action": {"memory_revisions.action"}, "delivery": {"deliveries.state"},
		"update": {"policy_updates.state"},
		"bankop": {"bank_versions.action"}, "learned": {"evolution_rounds.outcome"}, "case": {"cases.state"},
		"casesource": {"cases.source"}, "workspace": {"workspaces.state"}, "actor": {"audit_events.actor"}} {
		for _, column := range columns {
			table, name, _ := strings.Cut(column, ".")
			var checks string
			testkit.Must(
				t,
				b.Admin().QueryRow(t.Context(), `select coalesce(string_agg(pg_get_constraintdef(c.oid), ' '), '')
				from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and c.conkey = array[a.attnum]
				where c.conrelid = ('cairn.' || $1)::regclass and a.attname = $2 and c.contype = 'c'`, table, name).
					Scan(&checks),
			)
			allowed := regexp.MustCompile(`'([a-z_]+)'`).FindAllStringSubmatch(checks, -1)
			if len(allowed) == 0 && column != "runs.outcome" {
				t.Errorf("no values of %s in %q", column, checks)
			}
			for _, v := range allowed {
				if !texts.Has(prefix + "." + v[1]) {
					t.Errorf("no text for the value %s of %s", v[1], column)
				}
			}
		}
	}
}
