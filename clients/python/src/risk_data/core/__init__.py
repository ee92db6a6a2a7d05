"""The hand-made part of the library: requests, retries, pages, streams. Use what `risk_data` exports."""
