package llm_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/llm"
)

func TestLooksRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"I'm sorry, but I can't help with that.":                     true,
		"I’m really sorry, but I can’t assist with this request.":    true,
		"I cannot provide instructions for that.":                    true,
		"As an AI language model, I am unable to assist with that.":  true,
		"Sorry, I won't create such content.":                        true,
		"抱歉，我无法协助处理该请求。":                                             true,
		"对不起，我不能提供相关内容。":                                             true,
		"作为人工智能助手，我无法回答这个问题。":                                        true,
		"很抱歉，作为一个AI助手，我不能帮助你。":                                       true,
		"I can't find a task in these messages.":                     false,
		"I cannot create the event because the calendar is offline.": false,
		"Sorry for the wait! The refund is done.":                    false,
		"我无法连接到服务器，请检查网络。":                                           false,
		"抱歉让你久等，退款已完成。":                                              false,
		`{"reply":"I'm sorry, but I can't help with that."}`:         false,
		"": false,
		"I'm sorry, but I can't help with that." + strings.Repeat("x", 400): false,
	} {
		if got := llm.LooksRefused(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
