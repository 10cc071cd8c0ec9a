package bank

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// ImportedTrace is a conversation with questions that have known answers.
type ImportedTrace struct {
	ID        string               `json:"id"`
	Messages  []transcript.Message `json:"messages"`
	Questions []ImportedQuestion   `json:"questions"`
}

// ImportedQuestion is a question of an imported trace.
type ImportedQuestion struct {
	ID       string   `json:"id,omitempty"`
	Question string   `json:"question"`
	Answers  []string `json:"answers"`            // correct answers; any is sufficient
	Evidence []int    `json:"evidence,omitempty"` // indexes of the messages with the answer, from 0
	Category string   `json:"category,omitempty"`
}

// ParseTraces reads a JSON list of traces.
func ParseTraces(raw []byte) (out []ImportedTrace, err error) {
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fault.New(fault.InvalidArgument, "cannot parse the traces: "+err.Error(),
			`use a JSON list of {"id", "messages", "questions": [{"question", "answers"}]}`)
	}
	return out, nil
}

// Import stores traces as conversations, and their questions as cases of a bank. Importing a trace
// again has no effect.
func (s *Cases) Import(ctx context.Context, ws int64, name string, in []ImportedTrace) (questions int, err error) {
	for _, t := range in {
		messages := memory.Dialogue(t.Messages)
		if t.ID == "" || len(messages) == 0 {
			return questions, fault.Newf(fault.InvalidArgument, "trace %q has no id or no messages", t.ID)
		}
		for i := range messages {
			messages[i].Seq = i
		}
		err := s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
			head, err := s.ports.Banks.ReadHead(ctx, tx, OrDefault(name))
			if err != nil {
				return err
			}
			id, err := tx.Transcripts().PutConversation(ctx,
				transcript.Conversation{ID: "trace/" + t.ID, Messages: messages}, "import")
			if err != nil {
				return err
			}
			for n, q := range t.Questions {
				f := FailedQuestion{Op: "import", Source: FromImport, Question: q.Question, Gold: q.Answers,
					Evidence: q.Evidence, Conversation: id}
				c, err := f.check()
				if err != nil {
					return fmt.Errorf("trace %q, question %d: %w", t.ID, n, err)
				}
				c.Bank, c.Category = head.ID, q.Category
				c.Key = Key(t.ID + "\n" + q.ID + "\n" + q.Question) // two traces may have equal questions
				if _, err := tx.Cases().PutCase(ctx, c); err != nil {
					return err
				}
				questions++
			}
			return nil
		})
		if err != nil {
			return questions, err
		}
	}
	return questions, nil
}
