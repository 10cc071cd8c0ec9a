package speed

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"cairn/internal/domain/prompt"
	"cairn/internal/lab/fakes/openaitest"
)

// model is the scripted server. Its delay changes between cells.
type model struct {
	*openaitest.Server
	delay atomic.Int64
}

func startModel() (*model, error) {
	server, err := openaitest.Start()
	if err != nil {
		return nil, err
	}
	m := &model{Server: server}
	m.On(openaitest.Rule{Stage: "facts", ReplyFunc: func(c openaitest.Call) string {
		time.Sleep(time.Duration(m.delay.Load()))
		return factsOf(c)
	}})
	return m, nil
}

// script makes a server reply to each call after a delay.
func script(server *openaitest.Server, delay time.Duration) {
	server.On(openaitest.Rule{Stage: "facts", Delay: delay, ReplyFunc: factsOf})
}

// factsOf returns one fact for each message of a user, and a summary of one line for each conversation.
func factsOf(c openaitest.Call) string {
	m, err := prompt.ReadMaterial(c.Messages[1].Content)
	if err != nil {
		return "no material: " + err.Error() // ends the add as failed, which the measurement reports
	}
	facts := []map[string]any{}
	var digest strings.Builder
	last := -1
	for _, said := range m.Messages {
		if said.Role != "user" {
			continue
		}
		facts = append(facts, map[string]any{"op": "add", "handle": nil, "content": "Remembers: " + said.Content,
			"type": "fact", "event_time": nil, "evidence": []int{said.Index}, "about": m.Subject})
		if said.Conversation != last {
			last = said.Conversation
			fmt.Fprintf(&digest, "%s told about %s\n", m.Subject, said.Content)
		}
	}
	raw, _ := json.Marshal(map[string]any{"facts": facts, "digest": digest.String()}) // strings and numbers
	return string(raw)
}
