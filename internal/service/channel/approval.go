package channel

import (
	"fmt"
	"strings"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/transcript"
)

// ApprovalRequest returns the message that asks whether to approve a change, with its lines. Its buttons are the
// commands /approve and /reject.
func ApprovalRequest(change, reason string, lines ...string) DeliveryBody {
	const most = 2000 // runes
	shown := transcript.Clip(strings.Join(lines, "\n"), most)
	return DeliveryBody{
		Text: fmt.Sprintf(
			"A change waits for approval (%s):\n\n%s\n\nSend /approve %s or /reject %s.",
			reason,
			shown,
			change,
			change,
		),
		Buttons: []channel.Choice{{Label: "Approve", Data: "approve " + change},
			{Label: "Reject", Data: "reject " + change}},
	}
}
