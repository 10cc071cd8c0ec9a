package slack

import (
	"context"
	"fmt"
	"io"

	slackapi "github.com/slack-go/slack"

	"cairn/internal/domain/channel"
)

// Fetch reads a file. Slack is asked for its present address; the library sends the token to Slack's hosts only.
func (a *Adapter) Fetch(ctx context.Context, at channel.Attachment) (io.ReadCloser, error) {
	f, err := a.fileInfo(ctx, at.Ref)
	if err != nil {
		return nil, a.redact(fmt.Errorf("ask Slack for file %s: %w", at.Ref, err))
	}
	if f.IsExternal {
		return nil, fmt.Errorf("file %s is stored outside Slack, by %s", at.Ref, f.ExternalType)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	reader, writer := io.Pipe()
	go func() {
		err := a.client.GetFileContext(ctx, firstOf(f.URLPrivateDownload, f.URLPrivate), writer)
		writer.CloseWithError(a.redact(err)) // nil is the end of the file
	}()
	return &download{reader, cancel}, nil
}

func (a *Adapter) fileInfo(ctx context.Context, id string) (*slackapi.File, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	f, _, _, err := a.client.GetFileInfoContext(ctx, id, slackapi.DEFAULT_FILES_COUNT, slackapi.DEFAULT_FILES_PAGE)
	return f, err
}

// download is a file that is being read. Close ends the request.
type download struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (d *download) Close() error {
	d.cancel()
	return d.PipeReader.Close()
}
