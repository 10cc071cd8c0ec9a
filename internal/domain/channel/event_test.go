package channel_test

import (
	"testing"

	"cairn/internal/domain/channel"
)

func TestPlacesHaveDifferentConversations(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]channel.Place{
		"ada/7":              {Account: "ada", Chat: "7"},
		"ada/-100/5":         {Account: "ada", Chat: "-100", Thread: "5"},
		"desk/a%2Fb":         {Account: "desk", Chat: "a/b"},
		"desk/a/b":           {Account: "desk", Chat: "a", Thread: "b"},
		"desk/room%232":      {Account: "desk", Chat: "room#2"}, // is not the second conversation of room
		"desk/a%252Fb/c%2Fd": {Account: "desk", Chat: "a%2Fb", Thread: "c/d"},
	} {
		if got := p.Conversation(); got != name {
			t.Errorf("%+v has the conversation %q, want %q", p, got, name)
		}
	}
	if got := (channel.Place{Account: "desk", Chat: "a/b", Thread: "c"}).String(); got != "desk/a/b/c" {
		t.Errorf("the name is %q", got)
	}
}
