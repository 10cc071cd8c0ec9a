package distill_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// customer is a conversation with the data of a customer.
func customer() transcript.Conversation {
	c := talk("Checkout")
	c.Messages[0].Content += " My mother is in the hospital and I must reach her before the weekend."
	c.Messages[1].ToolCalls = []transcript.ToolCall{{ID: "1", Name: "get_user",
		Arguments: `{"user_id": "mia_li_3668", "date": "2024-05-20", "price": 4875}`}}
	c.Messages[2].Content, c.Messages[2].ToolCallID, c.Messages[2].Name =
		`{"membership": "gold", "city": "Houston", "dob": "1990-04-05"}`, "1", "get_user"
	return c
}

// Values of a policy stay, those of the case do not.
func TestRulesKeepTheValuesOfAPolicy(t *testing.T) {
	t.Parallel()
	d := setup(t)
	c := customer()
	c.Messages[0] = transcript.Message{Role: transcript.System,
		Content: "A flight can be changed within 24 hours. Never refund more than $500."}
	c.Messages[1].ToolCalls[0].Arguments = `{"user_id": "mia_li_3668", "price": 4875, "refund": 500}`
	rule := func(value, unit string) map[string]any {
		return map[string]any{"if": "a customer asks for a refund", "then": "offer at most", "value": value,
			"unit":   unit,
			"source": "policy", "evidence": []int{0}}
	}
	d.model.says("extract", draft("Probe", with("rules", []any{rule("24", "hours"), rule("$500", ""),
		rule("$4,875", "dollars")}), with("pitfalls", []any{map[string]any{"error": "mia_li_3668 not found",
		"cause": "", "fix": "ask for the ID", "evidence": []int{2}}})))
	ref, key := d.drafted(d.request(c))
	testkit.Must(t, d.Store.InWorkspaceByKeys(t.Context(), d.A.ID, func(ctx context.Context, tx store.Tx) error {
		_, task, err := tx.Tasks().RunTask(ctx, ref.Run, key)
		if err != nil {
			return err
		}
		got := fmt.Sprint(task.Draft.Rules, task.Draft.Pitfalls)
		if strings.Contains(got, "4,875") || strings.Contains(got, "mia_li") || !strings.Contains(got,
			"[$500; policy]") ||
			!strings.Contains(got, "[24 hours; policy]") {
			t.Errorf("got %s", got)
		}
		return nil
	}))
}

func TestDraftsKeepNothingAboutTheCustomer(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.model.says("extract", draft("The flight on May 20th cost $4,875.00",
		with("procedure", "1. Ask for the user ID.\n2. The gold customer from Houston gets a voucher.\n"+
			"3. My mother is in the hospital and I must reach her before Friday.\n4. Probe again."),
		with("examples", []string{"My mother is in the hospital and I must reach her before the weekend."}),
		with("preference", []string{"Born on 5 April 1990, mia_li_3668 likes aisles"})))
	ref, key := d.drafted(d.request(customer()))
	var got skill.Draft
	testkit.Must(t, d.Store.InWorkspaceByKeys(t.Context(), d.A.ID, func(ctx context.Context, tx store.Tx) error {
		_, task, err := tx.Tasks().RunTask(ctx, ref.Run, key)
		if err == nil {
			got = *task.Draft
			if notes := strings.Join(
				task.Notes,
				"\n",
			); !strings.Contains(
				notes,
				"sentences that repeat a user's message",
			) {
				t.Errorf("notes %q", task.Notes)
			}
		}
		return err
	}))
	want := "1. Ask for the user ID.\n2. The [tier] customer from [city] gets a voucher.\n4. Probe again."
	if got.Procedure != want {
		t.Errorf("procedure %q, want %q", got.Procedure, want)
	}
	if len(got.Examples) != 0 || got.Experience[0] != "The flight on [date] cost $[amount]" ||
		got.Preference[0] != "Born on [birth_date], [id] likes aisles" && got.Preference[0] !=
			"Born on [birth_date], [user_id] likes aisles" {
		t.Errorf("got %+v", got)
	}
	for kind, want := range map[string]int{"date": 1, "birth_date": 1, "amount": 1, "id": 1,
		"quasi_identifier": 1, "prose": 2} {
		if got.Privacy[kind] != want {
			t.Errorf("%s: counted %d, want %d in %v", kind, got.Privacy[kind], want, got.Privacy)
		}
	}
}

func TestADraftThatOnlyDescribesACustomerIsSkipped(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.model.says("extract", draft("Probe",
		with("procedure", "My mother is in the hospital and I must reach her before the weekend.")))
	ref, key := d.chunked(d.request(customer()))
	out, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key))
	testkit.Must(t, err)
	if r := d.report(ref).Tasks[0]; !out.Ended || r.Outcome != distillation.Skipped ||
		!strings.Contains(r.Reason, "one person") {
		t.Errorf("ended %v, %+v", out.Ended, r)
	}
}
