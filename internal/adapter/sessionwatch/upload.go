package sessionwatch

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"cairn/internal/domain/fault"
)

// Gateway sends files to POST /v1/imports.
type Gateway struct {
	URL     string // of the gateway, such as http://127.0.0.1:8080
	Key     string // API key with the scope write
	Distill bool   // also distill the conversations
	Client  *http.Client
}

// uploadTimeout limits one upload.
const uploadTimeout = 2 * time.Minute

// Upload sends a file, and returns after the gateway has stored it. It returns the ID of the import.
func (g *Gateway) Upload(ctx context.Context, name string, content []byte) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(content); err != nil {
		return 0, fmt.Errorf("compress %s: %w", name, err)
	}
	if err := w.Close(); err != nil {
		return 0, fmt.Errorf("compress %s: %w", name, err)
	}
	query := url.Values{"name": {name}}
	if g.Distill {
		query.Set("distill", "true")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		strings.TrimRight(g.URL, "/")+"/v1/imports?"+query.Encode(), &packed)
	if err != nil {
		return 0, fault.Wrap(err, fault.InvalidArgument, fmt.Sprintf("invalid server %q", g.URL),
			"use a URL such as http://127.0.0.1:8080")
	}
	req.Header.Set("Authorization", "Bearer "+g.Key)
	req.Header.Set("Content-Type", "application/octet-stream")
	client := g.Client
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, fault.Wrap(err, fault.Unavailable, "send "+name+" to "+g.URL,
			"start the gateway with `cairn serve`, or choose another one with --server URL")
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return 0, fault.Wrap(err, fault.Unavailable, "read the response of "+g.URL, "")
	}
	return imported(g.URL, res.StatusCode, body)
}

// imported reads the response of the gateway.
func imported(server string, status int, body []byte) (int64, error) {
	var answer struct {
		Imports []struct {
			ID int64 `json:"id"`
		} `json:"imports"`
		Code, Message, Hint string
	}
	err := json.Unmarshal(body, &answer)
	switch {
	case status == http.StatusAccepted && err == nil && len(answer.Imports) > 0:
		return answer.Imports[0].ID, nil
	case err == nil && fault.Table[fault.Code(answer.Code)].HTTP != 0:
		return 0, fault.New(fault.Code(answer.Code), "the gateway refused the file: "+answer.Message, answer.Hint)
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return 0, fault.New(fault.Unavailable, fmt.Sprintf("the gateway replied with status %d", status), "")
	}
	return 0, fault.New(fault.InvalidArgument, fmt.Sprintf("%s replied with status %d, and is no Cairn gateway",
		server, status), "choose the gateway with --server URL")
}
