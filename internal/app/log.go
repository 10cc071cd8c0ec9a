package app

import (
	"io"
	"log/slog"
)

// NewLogger returns a logger that writes text lines of at least the named level to w.
func NewLogger(w io.Writer, level string) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: Level(level)}))
}

// Level parses the name of a log level. Unknown names mean warn.
func Level(name string) slog.Level {
	var l slog.Level
	if l.UnmarshalText([]byte(name)) != nil {
		return slog.LevelWarn
	}
	return l
}
