package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/service/inbox"
)

// maxInbox is the largest number of items of each kind that inbox_list returns.
const maxInbox = 100

type inboxArgs struct {
	Limit int `json:"limit,omitempty" jsonschema:"items of each kind, 20 if omitted"`
}

func (inboxArgs) Bound(p map[string]*jsonschema.Schema) { bound(p["limit"], 1, maxInbox) }

type inboxResult struct {
	Items []inbox.Item `json:"items"`
}

// Inbox returns the tool with which other programs list what waits for a person. Only a person decides.
func Inbox(s *inbox.Service) (Tool, error) {
	return New(agent.ToolSpec{Name: "inbox_list", Class: agent.Fast, Origins: outsiders, ReadOnly: true,
		Idempotent: true,
		Description: "List the new skills, changes of skills and memory writes that wait for a person, with the " +
			"reasons. Only a person can approve them."},
		func(ctx context.Context, a agent.Actor, in inboxArgs) (inboxResult, error) {
			const usual = 20
			if in.Limit == 0 {
				in.Limit = usual
			}
			items, err := s.List(ctx, a, in.Limit)
			return inboxResult{items}, err
		})
}
