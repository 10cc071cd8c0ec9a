package discord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	disgo "github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/domain/channel"
)

// attachmentsOf converts the files of a message. The reference has the place of the file and its address, which
// Discord makes invalid after about a day.
func attachmentsOf(m message, all []disgo.Attachment) (out []channel.Attachment) {
	for _, f := range all {
		a := channel.Attachment{Ref: fmt.Sprintf("%s/%s/%s %s", m.Channel, m.ID, f.ID, f.URL), Name: f.Filename,
			Size: int64(f.Size)}
		if f.ContentType != nil {
			a.Type, _, _ = strings.Cut(*f.ContentType, ";")
		}
		out = append(out, a)
	}
	return out
}

// errExpired means that the address of a file is not valid any more.
var errExpired = errors.New("the address of the file has expired")

// Fetch reads a file. If its address has expired, it asks Discord for another one.
func (a *Adapter) Fetch(ctx context.Context, f channel.Attachment) (io.ReadCloser, error) {
	where, address, _ := strings.Cut(f.Ref, " ")
	ids := strings.Split(where, "/")
	if len(ids) != 3 || address == "" {
		return nil, fmt.Errorf("invalid reference of a file: %.100q", f.Ref)
	}
	body, err := a.download(ctx, address)
	if !errors.Is(err, errExpired) {
		return body, err
	}
	if address, err = a.newAddress(ctx, ids[0], ids[1], ids[2]); err != nil {
		return nil, err
	}
	return a.download(ctx, address)
}

// newAddress reads the address of a file from its message.
func (a *Adapter) newAddress(ctx context.Context, channelID, messageID, fileID string) (string, error) {
	var m message
	if err := a.do(ctx, rest.GetMessage.Compile(nil, channelID, messageID), nil, &m); err != nil {
		return "", fmt.Errorf("read the message of a file: %w", err)
	}
	files := m.Attachments
	for _, f := range m.Forwarded {
		files = append(files, f.Message.Attachments...)
	}
	id, err := snowflake.Parse(fileID)
	if err != nil {
		return "", fmt.Errorf("invalid ID of a file: %.40q", fileID)
	}
	for _, f := range files {
		if f.ID == id {
			return f.URL, nil
		}
	}
	return "", errors.New("the file was removed from its message")
}

func (a *Adapter) download(ctx context.Context, address string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("invalid address of a file")
	}
	r.Header.Set("User-Agent", userAgent)
	res, err := a.files.Do(r)
	if err != nil {
		return nil, fmt.Errorf("read a file: %w", apiclient.Redact(err))
	}
	switch res.StatusCode {
	case http.StatusOK:
		return res.Body, nil
	case http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		err = errExpired
	default:
		err = fmt.Errorf("read a file: status %d", res.StatusCode)
	}
	_ = res.Body.Close() // nothing of it is needed
	return nil, err
}
