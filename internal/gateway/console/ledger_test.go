package console_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/access"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/inspect"
	"cairn/internal/testkit"
)

func TestARepairAndARetryAreInTheWaterfall(t *testing.T) {
	t.Parallel()
	b := setup(t).signedIn(access.Admin)
	b.Start()
	const spoiled = "I would rather not write JSON. <b>Sorry</b>"
	b.Model.On(openaitest.Rule{Stage: "segment", Times: 1, Reply: spoiled})
	b.Model.On(openaitest.Rule{Stage: "extract", Times: 1, Status: http.StatusServiceUnavailable, Reply: "busy"})
	b.ScriptR1()
	report := b.Distill(apptest.C1())
	pages := b.get(b.at("runs/" + report.Run)).is(http.StatusOK).body
	for _, c := range []string{"repair 1", "retries: 1"} {
		if !strings.Contains(pages, c) {
			t.Errorf("the waterfall lacks %q", c)
		}
	}
	if !strings.Contains(b.showsWhatTheLedgerHas(), spoiled) {
		t.Error("no page shows the reply that was not valid")
	}
}

// showsWhatTheLedgerHas checks that the page of each model call has the messages and the reply of the ledger, and
// returns the text of these pages.
func (b *bundle) showsWhatTheLedgerHas() (all string) {
	b.T.Helper()
	rows, err := b.Admin().Query(b.T.Context(), `select run_id, step, round, reply,
  cairn.request_of(workspace_id, conversation_id, request, parts) as request
from cairn.llm_calls where workspace_id = $1 and state = 'done'`, b.Workspace.ID)
	testkit.Must(b.T, err)
	type call struct {
		Run, Step      string
		Round          int
		Reply, Request string
	}
	calls, err := pgx.CollectRows(rows, pgx.RowToStructByPos[call])
	testkit.Must(b.T, err)
	if len(calls) < 4 {
		b.T.Fatalf("calls %+v", calls)
	}
	for _, c := range calls {
		var request struct{ Messages []struct{ Content string } }
		testkit.Must(b.T, json.Unmarshal([]byte(c.Request), &request))
		at := b.at("runs/"+c.Run+"/call") + fmt.Sprintf("?round=%d&step=%s", c.Round, url.QueryEscape(c.Step))
		shown := html.UnescapeString(b.post(at, url.Values{}).is(http.StatusOK).body)
		for _, m := range request.Messages {
			if !strings.Contains(shown, m.Content) {
				b.T.Errorf("the page of %s %d lacks %q", c.Step, c.Round, m.Content)
			}
		}
		if !strings.Contains(shown, c.Reply) || len(request.Messages) == 0 {
			b.T.Errorf("the page of %s %d lacks the reply %q", c.Step, c.Round, c.Reply)
		}
		all += shown
	}
	return all
}

func TestUsageOfSeveralModelsEqualsTheLedger(t *testing.T) {
	t.Parallel()
	b := setup(t).signedIn(access.Read)
	b.set(`{"time_zone": "America/St_Johns"}`) // half an hour off the hours of UTC
	b.exec(`insert into cairn.runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id, status, outcome)
  select $1, 'run_' || translate(lpad(k, 26, '0'), 'ilou', 'jjjj'), k, k, sha256('x'), '{}', 'w', 'ended', 'completed'
  from unnest(array['turn', 'distill']) k`, b.Workspace.ID)
	b.exec(`insert into cairn.llm_calls (workspace_id, run_id, step, round, state, stage, model, label, request,
    request_sha, holder, lease_until, reply, input_tokens, cached_tokens, output_tokens, cost_micros, sent_at)
  select $1, r.id, 's' || i, 0, case i % 17 when 0 then 'failed' else 'done' end, 's', 'model-' || i % 3, '{}', '{}',
    sha256('x'), gen_random_uuid(), now(), case i % 17 when 0 then null else 'Yes.' end, i, i / 2, i * 2,
    case i % 3 when 1 then null else i * 7 end, now() - make_interval(mins => i * 51)
  from cairn.runs r, generate_series(0, 900) i where r.workspace_id = $1`, b.Workspace.ID)
	rows, err := b.Admin().
		Query(t.Context(), `select (c.sent_at at time zone 'America/St_Johns')::date::text, c.model, r.kind,
    count(*), count(*) filter (where c.state = 'failed'), sum(c.input_tokens)::bigint, sum(c.cached_tokens)::bigint,
    sum(c.output_tokens)::bigint, coalesce(sum(c.cost_micros), 0)::bigint
  from cairn.llm_calls c join cairn.runs r on r.workspace_id = c.workspace_id and r.id = c.run_id
  where (c.sent_at at time zone 'America/St_Johns')::date > (now() at time zone 'America/St_Johns')::date - 30
  group by 1, 2, 3 order by 1, 2, 3`)
	testkit.Must(t, err)
	type usage struct {
		Day, Model, Kind                                   string
		Calls, Failed, Input, Cached, Output, CostOfPriced int64
	}
	want, err := pgx.CollectRows(rows, pgx.RowToStructByPos[usage])
	testkit.Must(t, err)
	zone, err := time.LoadLocation("America/St_Johns")
	testkit.Must(t, err)
	from, to, err := inspect.Days(zone.String(), "", "")
	testkit.Must(t, err)
	listed, err := b.Explore.Usage(t.Context(), b.Workspace.ID, zone, from, to)
	testkit.Must(t, err)
	var got []usage
	for _, u := range listed {
		got = append(got, usage{u.Day, u.Model, u.Kind, u.Calls, u.Failed, u.Input, u.Cached, u.Output, u.Micros})
	}
	slices.SortFunc(got, func(a, b usage) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Kind, b.Kind))
	})
	if len(want) < 170 || !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d:\n%+v\n%+v", len(got), len(want), got, want)
	}
	micros := map[string]int64{}
	for _, u := range want {
		micros[u.Model] += u.CostOfPriced
	}
	b.get(b.at("usage")).is(http.StatusOK).has("model-1", "unpriced",
		fmt.Sprintf("$%.4f", float64(micros["model-0"])/1e6), fmt.Sprintf("$%.4f", float64(micros["model-2"])/1e6))
}
