package speed

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"cairn/internal/domain/transcript"
)

// vocabulary are the words of the conversations.
var vocabulary = strings.Fields("the a to of and in for with that it we is on be this customer order ticket service " +
	"release deployment replica check before after please confirm account number refund policy window limit error " +
	"request response timeout latency configuration database connection retry update change report status summary " +
	"because however therefore always never should must can cannot booking passenger flight cabin baggage insurance")

// talker writes a conversation.
type talker struct {
	draw *rand.Rand
	c    transcript.Conversation
	size int // tokens so far
}

func (t *talker) words(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = vocabulary[t.draw.IntN(len(vocabulary))]
	}
	return strings.Join(out, " ") + "."
}

func (t *talker) say(m transcript.Message) {
	m.Seq = len(t.c.Messages)
	t.size += raw(transcript.Conversation{Messages: []transcript.Message{m}})
	t.c.Messages = append(t.c.Messages, m)
}

// tokenTaskMark starts the first message of a task.
const tokenTaskMark = "New task"

// lastTurn is about half the size of a turn in tokens.
const lastTurn = 200

// tokenConversation returns one of about size tokens with a number of tasks. Tool results are shorter than the limit
// of prompts, so that none of the saving comes from clipping.
func tokenConversation(size, tasks int) transcript.Conversation {
	id := fmt.Sprintf("tokens-%d-%d", size, tasks)
	t := talker{draw: rand.New(rand.NewPCG(uint64(size), uint64(tasks))), c: transcript.Conversation{ID: id, Title: id}}
	t.say(transcript.Message{Role: transcript.System, Content: "You are an agent. " + t.words(min(250, size/10))})
	for task := range tasks {
		opening := fmt.Sprintf("%s %d: ", tokenTaskMark, task+1)
		for first := true; first || t.size+lastTurn < size*(task+1)/tasks; first = false {
			t.say(transcript.Message{Role: transcript.User, Content: opening + t.words(10+t.draw.IntN(60))})
			opening = ""
			for range 1 + t.draw.IntN(3) {
				t.call()
			}
			t.say(transcript.Message{Role: transcript.Assistant, Content: t.words(20 + t.draw.IntN(100))})
		}
	}
	return t.c
}

// call adds a tool call with its result.
func (t *talker) call() {
	id := fmt.Sprintf("call_%d", len(t.c.Messages))
	arguments := fmt.Sprintf(
		`{"order_id":"W%07d","fields":["status","items"],"limit":%d}`,
		t.draw.IntN(1e7),
		t.draw.IntN(50),
	)
	t.say(transcript.Message{Role: transcript.Assistant, ToolCalls: []transcript.ToolCall{{ID: id, Name: "get_order",
		Arguments: arguments}}})
	var result strings.Builder
	for i := range 1 + t.draw.IntN(8) {
		fmt.Fprintf(
			&result,
			`{"item":%d,"sku":"%08x","price":%d.%02d,"note":%q},`,
			i,
			t.draw.Uint32(),
			t.draw.IntN(900),
			t.draw.IntN(100),
			t.words(6),
		)
	}
	t.say(transcript.Message{Role: transcript.Tool, ToolCallID: id, Name: "get_order",
		Content: "[" + strings.TrimSuffix(result.String(), ",") + "]"})
}
