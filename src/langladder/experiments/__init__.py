"""What a measured claim is: its interface, findings, the statistics of its verdict; also tasks in words (prompts)."""
