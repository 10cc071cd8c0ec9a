package pgtest

import (
	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/testkit"
)

// Inbox returns the service that accepts messages.
func (s *Store) Inbox() *conversation.Service {
	return &conversation.Service{Ports: conversation.Ports{Store: s.Conversations()}}
}

// AcceptMessage accepts a message of a conversation in workspace A.
func (s *Store) AcceptMessage(r conversation.Request) conversation.AcceptedTurn {
	s.T.Helper()
	r.Workspace, r.WorkspaceKey = s.A.ID, s.A.Key
	out, err := s.Inbox().Accept(s.T.Context(), r)
	testkit.Must(s.T, err)
	return out
}

// Exchange records an observed turn in a conversation of workspace A, and ends it.
func (s *Store) Exchange(name, message, question, answer string) run.Run {
	s.T.Helper()
	out := s.AcceptMessage(conversation.Request{Conversation: name, MessageID: message, Mode: contract.Observe,
		Messages: []transcript.Message{{Role: transcript.User, Content: question},
			{Role: transcript.Assistant, Content: answer}}})
	s.EndTurn(out.Run)
	return out.Run
}

// EndTurn ends an observed turn.
func (s *Store) EndTurn(r run.Run) contract.AgentResult {
	s.T.Helper()
	agents := &agentrun.Service{Ports: agentrun.Ports{Store: s.Store}}
	out, err := agents.Close(s.T.Context(), CloseAgent(r.Ref, contract.Observed))
	testkit.Must(s.T, err)
	return out
}
