package offlinemodel

import (
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
)

// orderDesk is a change of an order that fails, is repaired by a lookup, and is read back.
func orderDesk() []prompt.Message {
	return numbering(
		prompt.Message{Role: "system", Content: "# Shop\n\n## Modify orders\n\n- If the order is delivered, you " +
			"must refuse the change after 30 days.\n- You must ask for the order number first.\n- A pending order " +
			"can be changed. Otherwise, you must refuse. Do not change these.\n\n## Refund orders\n\n- Never " +
			"refund an order above $500."},
		user("Please change my order to the blue shirt. The number is W-1001."),
		calls(`get_order({"order_id":"W-1001"})`), result("get_order", `{"order_id":"W-1001","status":"pending"}`),
		assistant("I would change order W-1001 to the blue shirt. Do you agree?"), user("Yes, please."),
		calls(`modify_order({"order_id":"W-1001","payment_id":"card"})`),
		result("modify_order", "Error: payment method not found"),
		calls(`get_user({"order_id":"W-1001"})`), result("get_user", `{"payment_methods":["gift_card_771"]}`),
		calls(`modify_order({"order_id":"W-1001","payment_id":"gift_card_771"})`),
		result("modify_order", `{"order_id":"W-1001","paid_with":"gift_card_771"}`),
		calls(`get_order({"order_id":"W-1001"})`), result("get_order", `{"order_id":"W-1001","status":"modified"}`),
		assistant("The order is changed."), user("Also cancel my order W-2002."),
		calls(`cancel_order({"order_id":"W-2002"})`), result("cancel_order", `{"order_id":"W-2002"}`),
		assistant("It is cancelled."),
	)
}

func TestALogGivesEveryPartOfASkill(t *testing.T) {
	t.Parallel()
	got := ask(t, prompt.Extract, prompt.Material{Messages: orderDesk()})
	for what, text := range map[string]string{
		"rules": "You must ask for the order number first [policy]\nIf the order is delivered → you must refuse the " +
			"change after 30 days [30 days; policy]\nA pending order can be changed. Otherwise, you must refuse " +
			"[policy]\nIf you are about to call `modify_order` → call `get_order` with the same " +
			"`order_id` first [observed]",
		"pitfalls": "`Error: payment method not found` → `payment_id` was not one that `get_user` returns → take " +
			"`payment_id` from the result of `get_user`, then call `modify_order` again",
	} {
		if shown := parts(got, what); shown != text {
			t.Errorf("%s:\n%s\nwant\n%s", what, shown, text)
		}
	}
	if checks := strs(got["verification"]); len(checks) != 2 || !strings.Contains(checks[0], "`modify_order` answers "+
		"without an error, and its result shows `order_id` and `payment_id`.") ||
		!strings.Contains(checks[1], "`get_order` with the same `order_id`") {
		t.Errorf("verification %q", checks)
	}
	if not := strs(got["not_for"]); len(not) != 1 || not[0] != "cancel order" {
		t.Errorf("not for %q", not)
	}
	requireInOrder(t, procedure(got), "`get_order(order_id)`", "`get_user(order_id)`", "clear yes",
		"`payment_id` from `get_user`", "`modify_order(order_id, payment_id)`", "   Check: it answers without an error",
		"   If it fails: Take `payment_id` from the result of `get_user`", "Report")
	requireInOrder(t, marshalled(got["inputs"]), "order_id", "the user", "payment_id", "from `get_user`")
}

// An argument that the failed call did not have is the cause.
func TestAMissingArgumentIsTheCause(t *testing.T) {
	t.Parallel()
	got := ask(t, prompt.Extract, prompt.Material{Messages: numbering(user("Refund order W-1001, please."),
		calls(`refund_order({"order_id":"W-1001"})`), result("refund_order", "Error: a refund needs a reason"),
		calls(`refund_order({"order_id":"W-1001","reason":"broken"})`), result("refund_order", `{"state":"ok"}`),
		assistant("It is refunded."))})
	want := "`Error: a refund needs a reason` → the call had no `reason` → add `reason` and call `refund_order` again"
	if shown := parts(got, "pitfalls"); shown != want {
		t.Errorf("%s\nwant\n%s", shown, want)
	}
}

// A change that never succeeded shows no check and no fix.
func TestAFailureGivesNoCheckAndNoFix(t *testing.T) {
	t.Parallel()
	said := orderDesk()[:8]
	got := ask(t, prompt.Extract, prompt.Material{Messages: said})
	if len(strs(got["verification"])) != 0 || len(got["pitfalls"].([]any)) != 0 ||
		!strings.Contains(marshalled(got["experience"]), "payment method not found") {
		t.Errorf("%v", got)
	}
	if text := procedure(got); strings.Contains(text, "Check:") || strings.Contains(text, "If it fails:") {
		t.Errorf("procedure\n%s", text)
	}
}
