package browsertest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// Download clicks a link to a file, and returns the name and the content of the file.
func (b *Browser) Download(selector string) (name string, content []byte) {
	b.T.Helper()
	folder, err := os.MkdirTemp("", "cairn-download-") // not that of the test: the browser may still write to it
	b.must(err)
	defer func() { _ = os.RemoveAll(folder) }()
	b.call(func(ctx context.Context) error {
		_, err := chromedp.CallBrowser(ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
			Behavior:         cdpbrowser.SetDownloadBehaviorBehaviorAllow,
			BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID, DownloadPath: folder})
		return err
	})
	b.Click(selector)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pause) {
		all, err := os.ReadDir(folder)
		b.must(err)
		for _, f := range all {
			if partial := strings.HasSuffix(f.Name(), ".crdownload") || strings.HasPrefix(f.Name(), "."); !partial {
				content, err = os.ReadFile(filepath.Join(folder, f.Name()))
				b.must(err)
				return f.Name(), content
			}
		}
	}
	b.T.Fatalf("%s: no file follows %s", b.Path(), selector)
	return "", nil
}

// Upload chooses a file of this machine in a field.
func (b *Browser) Upload(selector, path string) {
	b.T.Helper()
	b.do(chromedp.SetUploadFiles(chromedp.CSS(selector), []string{path}))
}
