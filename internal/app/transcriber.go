package app

import (
	"cmp"

	"cairn/internal/adapter/openai"
	"cairn/internal/app/config"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/ledger"
)

// transcriber returns the model that transcribes recordings, nil if none is configured. Its calls are in the ledger of
// the other model calls.
func transcriber(c config.Config, p ledger.Ports) (*agentrun.Transcriber, error) {
	if c.TranscribeModel == "" {
		return nil, nil
	}
	m := openai.Config{BaseURL: cmp.Or(c.TranscribeBaseURL, c.BaseURL), APIKey: cmp.Or(c.TranscribeAPIKey, c.APIKey),
		Timeout: c.Timeout, MaxReply: c.ReplyBytes, RereadKey: c.Reread("CAIRN_TRANSCRIBE_API_KEY", "OPENAI_API_KEY")}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	p.Model = openai.NewTranscriber(m)
	return &agentrun.Transcriber{Ledger: ledger.New(p), Model: c.TranscribeModel}, nil
}
