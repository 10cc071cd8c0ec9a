package app

import (
	"cairn/internal/adapter/offlinemodel"
	"cairn/internal/adapter/openai"
	"cairn/internal/adapter/recording"
	"cairn/internal/app/config"
	"cairn/internal/domain/llm"
)

// model returns the configured endpoint, or the offline model, or a recording of one of them.
func model(c config.Config) (llm.Model, error) {
	m, err := liveModel(c)
	switch {
	case err != nil:
		return nil, err
	case c.Replay != "":
		return recording.NewPlayer(c.Replay, m), nil
	case c.Record != "":
		return recording.NewRecorder(c.Record, m), nil
	}
	return m, nil
}

func liveModel(c config.Config) (llm.Model, error) {
	if c.Offline() {
		return offlinemodel.New(c.Timeout), openai.Config{Timeout: c.Timeout}.Validate()
	}
	m := chatEndpoint(c)
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return openai.New(m), nil
}

// chatEndpoint is the configured endpoint.
func chatEndpoint(c config.Config) openai.Config {
	return openai.Config{BaseURL: c.BaseURL, APIKey: c.APIKey, Structured: c.Structured, Cache: c.LLMCache,
		Timeout: c.Timeout, MaxReply: c.ReplyBytes, RereadKey: c.Reread("OPENAI_API_KEY")}
}

func prices(c config.Config) (llm.Prices, error) {
	if c.Prices == "" {
		return llm.ListPrices(), nil
	}
	return llm.ParsePrices([]byte(c.Prices))
}
