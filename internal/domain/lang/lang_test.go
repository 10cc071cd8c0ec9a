package lang_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/lang"
	"cairn/internal/domain/transcript"
)

func ExampleOfMessages() {
	fmt.Println(lang.OfMessages([]transcript.Message{
		{Role: transcript.User, Content: "帮我重启服务"},
		{Role: transcript.Tool, Content: "deployment.apps/checkout restarted successfully"},
		{Role: transcript.Assistant, Content: "运行：\n```sh\nkubectl rollout restart deployment/checkout\n```\n已经重启。"},
	}))
	// Output: zh
}

func TestDetect(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		// Observed when the reference was run.
		"Chinese request":            {"请帮我写代码", "zh"},
		"diluted by a command":       {"assistant: 使用 docker compose up 启动服务", "en"},
		"tool label stays":           {"tool: {\"ok\":true}\nuser: 好的", "en"},
		"Japanese with little kanji": {"これはとてもいいですね、ありがとう", "en"},
		"Korean":                     {"안녕하세요 반갑습니다", "en"},

		"English":                    {"please write the code", "en"},
		"empty":                      {"", "en"},
		"only digits and signs":      {"12 + 34 = 46 !", "en"},
		"labels do not dilute":       {"user: 好\nAssistant : 好", "zh"},
		"exactly the threshold":      {"汉汉汉abcdefg", "en"},
		"just above it":              {"汉汉汉汉abcdefg", "zh"},
		"addresses do not dilute":    {"看这里 https://example.org/a/very/long/path?x=y", "zh"},
		"phone times do not dilute":  {"[11:32 AM on 04 March, 2026] 好的", "zh"},
		"numeric times":              {"[2026-03-04 11:32] 好", "zh"},
		"UUIDs do not dilute":        {"查一下 123e4567-e89b-12d3-a456-426614174000", "zh"},
		"id pairs do not dilute":     {`会话 session_id: "abcdefghijkl" userid=xyzabcdef`, "zh"},
		"schema words do not dilute": {"text type image_url file_data 你好", "zh"},
		"a word that holds one does": {"textual 你好", "en"},
		"extension B counts":         {"𠀀𠀁𠀂", "zh"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lang.Detect(c.text); got != c.want {
				t.Errorf("Detect(%q) = %s, want %s", c.text, got, c.want)
			}
		})
	}
}

func TestOfMessagesIgnoresToolsSystemAndCode(t *testing.T) {
	english := strings.Repeat("english words here ", 50)
	got := lang.OfMessages([]transcript.Message{
		{Role: transcript.System, Content: english},
		{Role: transcript.User, Content: "请看\n```\n" + english + "\n```"},
		{Role: transcript.Tool, Content: english},
	})
	if got != "zh" {
		t.Errorf("got %s", got)
	}
	if got := lang.OfMessages([]transcript.Message{{Role: transcript.Tool, Content: "全是汉字"}}); got != "en" {
		t.Errorf("tool output alone decided: %s", got)
	}
}
