package app

import (
	"cairn/internal/domain/agent"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/completion"
	"cairn/internal/service/replystream"
	"cairn/internal/store"
)

// replies passes on the text of replies.
type replies struct {
	*replystream.Writer
	*replystream.Reader
}

// openReplies wires the writer and the reader of replies.
func (h *App) openReplies() agentrun.Replies {
	w := replystream.NewWriter(h.Store, h.Log)
	h.Replies = replystream.NewReader(h.Store)
	return replies{w, h.Replies}
}

// chatReplies are the replies that chat platforms show while a model writes them.
type chatReplies struct {
	*replystream.Reader
	store *store.Store
}

// News returns channels that receive when a run has new text, and when it may have ended.
func (r chatReplies) News(ref run.Ref) (text, ended <-chan struct{}, stop func()) {
	text, stopText := r.store.ReplyNews(ref.Run)
	ended, stopEnded := r.store.Ended(ref.Run)
	return text, ended, func() {
		stopText()
		stopEnded()
	}
}

// buildCompletions wires the service behind the OpenAI-compatible API.
func (h *App) buildCompletions() {
	h.Completions = completion.New(completion.Ports{Store: h.Store.Completions(),
		Inbox:      h.Inbox,
		Workspaces: h.Store.Workspaces(), Replies: h.Replies})
}

// toolNames returns the names of all tools that turns can have.
func (h *App) toolNames() (names []string) {
	for _, offered := range h.Tools.Offered(agent.OriginAgent) {
		names = append(names, offered.Name)
	}
	for _, offered := range h.AgentRuns.MemoryAgentTools.Offered(agent.OriginAgent) {
		names = append(names, offered.Name)
	}
	return names
}
