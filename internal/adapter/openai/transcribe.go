package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/media"
	"cairn/internal/domain/txscope"
)

// Transcriber is a Model that returns the words of a recording: Request.Audio.
type Transcriber struct {
	config   Config
	endpoint *Endpoint
}

var _ llm.Model = (*Transcriber)(nil)

// NewTranscriber returns a Transcriber. c.Validate and every Prepare report an invalid c.
func NewTranscriber(c Config) *Transcriber {
	service := openai.NewAudioTranscriptionService(c.options()...)
	post := func(ctx context.Context, options ...option.RequestOption) error {
		_, err := service.New(ctx, openai.AudioTranscriptionNewParams{}, options...)
		return err
	}
	return &Transcriber{config: c, endpoint: &Endpoint{config: c, post: post}}
}

// recording is the stored form of a request. The content of the file is read when the request is sent.
type recording struct {
	Model string `json:"model"`
	File  string `json:"file"` // URL of an attachment
}

// Prepare renders r. Its bytes name the recording.
func (t *Transcriber) Prepare(r llm.Request) (llm.PreparedRequest, error) {
	if err := t.config.Validate(); err != nil {
		return llm.PreparedRequest{}, err
	}
	if r.Audio == nil || r.Model == "" {
		return llm.PreparedRequest{}, fault.Newf(fault.InvalidArgument,
			"request of stage %q has no recording or no model", r.Label.Stage)
	}
	body, err := json.Marshal(recording{Model: r.Model, File: r.Audio.URL})
	if err != nil {
		return llm.PreparedRequest{}, fault.Wrap(err, fault.InvalidArgument, "render a request of transcription", "")
	}
	return llm.PreparedRequest{Model: r.Model, Body: body, Label: r.Label}, nil
}

// Send posts the recording that p names. The reply is empty if it has no speech.
func (t *Transcriber) Send(ctx context.Context, p llm.PreparedRequest) (llm.Reply, error) {
	if err := txscope.Reject(ctx); err != nil {
		return llm.Reply{}, err
	}
	var in recording
	if err := json.Unmarshal(p.Body, &in); err != nil {
		return llm.Reply{}, &llm.Error{Class: llm.Fatal, Message: "invalid request of transcription", Cause: err}
	}
	mime, content, err := fileOf(ctx, p, in.File)
	if err != nil {
		return llm.Reply{}, err
	}
	form := openai.AudioTranscriptionNewParams{Model: in.Model,
		File: openai.File(bytes.NewReader(content), media.FileName(mime), mime)}
	body, kind, err := form.MarshalMultipart()
	if err != nil {
		return llm.Reply{}, &llm.Error{Class: llm.Fatal, Message: "render a recording: " + err.Error(), Cause: err}
	}
	var response []byte
	if err := t.endpoint.request(ctx, payload{kind, body}, labelHeaders(p.Label), &response); err != nil {
		return llm.Reply{}, err
	}
	return t.read(response, in.Model, len(content))
}

// read decodes the response to a recording of a size in bytes.
func (t *Transcriber) read(response []byte, model string, size int) (llm.Reply, error) {
	var in struct {
		Text  *string `json:"text"`
		Usage struct {
			Input   int     `json:"input_tokens"`
			Output  int     `json:"output_tokens"`
			Seconds float64 `json:"seconds"` // of endpoints that count time
		} `json:"usage"`
	}
	if err := json.Unmarshal(response, &in); err != nil || in.Text == nil {
		return llm.Reply{}, t.endpoint.broken("no text: %.80q", response)
	}
	reply := llm.Reply{Text: strings.TrimSpace(*in.Text), Finish: "stop", Model: model,
		Usage: llm.Usage{Input: in.Usage.Input, Output: in.Usage.Output}}
	if seconds := in.Usage.Seconds; reply.Usage.Input == 0 && seconds > 0 && seconds < llm.MaxCallTokens {
		reply.Usage.Input = int(math.Ceil(seconds * llm.AudioTokensPerSecond))
	}
	if u := reply.Usage; u.Input <= 0 || u.Output < 0 || max(u.Input, u.Output) > llm.MaxCallTokens {
		reply.Usage = llm.Usage{Input: llm.EstimateAudio(size), Output: llm.EstimateTokens(reply.Text), Estimated: true}
	}
	if failure := checkSize(reply); failure != nil {
		return llm.Reply{}, failure
	}
	return reply, nil
}
