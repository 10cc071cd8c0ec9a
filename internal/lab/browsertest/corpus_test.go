package browsertest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/lab/browsertest"
	"cairn/internal/testkit"
)

// corpus is text that would run if a page did not escape it. Each part sets window.__xss or asks for /xss.
var corpus = strings.Join([]string{
	`<script>window.__xss=1</script>`,
	`<img src=/xss onerror="window.__xss=1">`,
	`<svg onload="window.__xss=1"><a xlink:href="javascript:window.__xss=1">x</a></svg>`,
	`"><script>window.__xss=1</script>`,
	`' autofocus onfocus='window.__xss=1`,
	`</textarea><script>window.__xss=1</script>`,
	`</title><script>window.__xss=1</script>`,
	`</style><script>window.__xss=1</script>`,
	`<iframe srcdoc="<script>parent.__xss=1</script>"></iframe>`,
	`[x](javascript:window.__xss=1)`,
	`![x](/xss)`,
	`<javascript:window.__xss=1>`,
	"```\n</code><script>window.__xss=1</script>\n```",
	`{{.}} {{define "main"}} ${window.__xss=1}`,
	`<div hx-get="/xss" hx-trigger="load" hx-on::load="window.__xss=1">x</div>`,
	`<meta http-equiv="refresh" content="0;url=/xss">`,
	`<base href="/xss/">`,
	`<link rel="stylesheet" href="/xss">`,
	`<form action="/xss"><button>x</button></form>`,
	`<math href="javascript:window.__xss=1">x</math>`,
	"\u202egnp.exe\u200b\ufeff\u2066",
	`<object data="/xss"></object>`,
	`<style>@import "/xss"</style>`,
	`<a href="/xss" style="position:fixed;inset:0">x</a>`,
	`<!--`,
	`<plaintext>`,
	`&lt;script&gt;window.__xss=1&lt;/script&gt;`,
	strings.Repeat("A", 2000),
}, "\n")

// names are columns whose values are IDs, states or formats, which a check or a foreign key restricts or which the
// pages need to find the rows.
var names = []string{"id", "run_id", "parent_id", "kind", "status", "state", "type", "origin", "mode", "channel",
	"workflow_id", "external_id", "call_id", "business_key", "task_key", "op_id", "history_id", "workspace_id", "class",
	"action", "stage", "reason", "outcome", "lang", "time_zone", "role", "op", "key", "message_id", "step", "memory_id",
	"finish", "package_key", "embedded_field", "category", "actor", "name", "target", "severity", "superseded_by",
	"decision_id", "verdict", "voter", "format", "reflection_cron", "request", "reply", "fenced", "platform", "hint",
	"bank_sha", "policy_sha", "optimizer_sha", "snapshot_sha"}

// poison appends the corpus to every text column of the workspace's tables that may hold any text. It returns the
// columns.
func poison(t *testing.T, f *browsertest.Fixture, corpus string) (columns []string) {
	t.Helper()
	rows, err := f.Admin().Query(t.Context(), `select c.table_name, c.column_name from information_schema.columns c
  join information_schema.tables b using (table_schema, table_name)
  where c.table_schema = 'cairn' and c.data_type = 'text' and b.table_type = 'BASE TABLE' and exists (
    select from information_schema.columns w where w.table_schema = 'cairn' and w.table_name = c.table_name
      and w.column_name = 'workspace_id')
  order by 1, 2`)
	testkit.Must(t, err)
	var all [][2]string
	for rows.Next() {
		var c [2]string
		testkit.Must(t, rows.Scan(&c[0], &c[1]))
		all = append(all, c)
	}
	testkit.Must(t, rows.Err())
	for _, c := range all {
		if slices.Contains(names, c[1]) {
			continue
		}
		text := corpus
		if c[1] == "description" {
			text = corpus[:900]
		}
		literal := "'" + strings.ReplaceAll(text, "'", "''") + "'"
		value := fmt.Sprintf("left(%q, 60) || %s", c[1], literal)
		if c[0] == "request_parts" { // JSON: a message, or a list of tools
			value = "case when content like '{%' then jsonb_build_object('role', 'user', 'content', " + literal +
				")::text else content end"
		}
		_, err := f.Admin().Exec(context.Background(), fmt.Sprintf("set session_replication_role = replica; "+
			"update cairn.%q set %q = %s; set session_replication_role = default", c[0], c[1], value))
		if err != nil { // a check forbids it: the column holds no free text
			t.Logf("%s.%s holds no free text: %v", c[0], c[1], err)
			continue
		}
		columns = append(columns, c[0]+"."+c[1])
	}
	return columns
}

func TestStoredTextNeverRuns(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	columns := poison(t, f, corpus)
	for _, want := range []string{"messages.content", "memories.content", "memory_revisions.content",
		"skill_versions.body",
		"skill_versions.description", "conversations.title", "agent_calls.arguments", "agent_calls.result",
		"llm_calls.model",
		"llm_calls.error", "request_parts.content", "skill_versions.change_summary",
		"memories.when_to_use", "memories.author"} {
		if !slices.Contains(columns, want) {
			t.Errorf("%s is not poisoned", want)
		}
	}
	stayInert(t, f)
}

// A line of one megabyte in every text makes no page larger than its budget, and no page runs it.
func TestLongLinesAreCut(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	poison(t, f, strings.Repeat("<b onclick=window.__xss=1>A", 1<<20/27)+"<script>window.__xss=1</script>")
	stayInert(t, f)
}

// stayInert opens every page of a poisoned workspace.
func stayInert(t *testing.T, f *browsertest.Fixture) {
	t.Helper()
	b := browsertest.Open(t, f.URL)
	b.SignIn(f.Key)
	for name, path := range f.Pages() {
		b.Visit(path)
		got := browsertest.Evaluate[string](b, `JSON.stringify({xss: window.__xss === undefined,
      scripts: document.scripts.length, frames: frames.length, images: document.images.length,
      bad: document.querySelectorAll("main [onerror], main [onload], main [style], main iframe, main object, " +
        "main base, main meta, main style, main [hx-get], main a[href^='javascript']").length})`)
		if size := browsertest.Evaluate[int](b, "document.documentElement.outerHTML.length"); size > 6<<20 {
			t.Errorf("%s has %d characters", name, size)
		}
		if got != `{"xss":true,"scripts":1,"frames":0,"images":0,"bad":0}` {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, address := range b.Requests() {
		if strings.HasSuffix(address, "/xss") || strings.Contains(address, "/xss/") {
			t.Errorf("the pages ask for %s", address)
		}
	}
}
