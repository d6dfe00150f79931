#!/usr/bin/perl
# Random secrets through runs that end, fail, are canceled, crash and are lost,
# on a page that shows what it was given: nowhere is a trace of one. Real
# programs and the real browser; the worker has one template, canary.lua.
use strict;
use warnings;
no warnings 'portable';
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure sized);
use Digest::MD5 qw(md5 md5_hex);
use Digest::SHA qw(hmac_sha256 sha1 sha1_hex sha256 sha256_hex);
use File::Find ();
use File::Temp ();
use IO::Socket::INET;
use JSON::PP ();
use MIME::Base64 qw(encode_base64);
use POSIX ();
use Test::More;
use Time::HiRes qw(time);

my $build = $ENV{builddir} // die "builddir is not set\n";
my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my $ascii = JSON::PP->new->ascii->allow_nonref;
my @canaries;    # characters
my $heard = '';  # all that clients were told
my $template = 'canary';
my ($round, $submitted) = (1, 0);

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);

# ---- a site that shows what it is given ----

sub escaped {
	my ($text) = @_;
	my %to = ('&' => '&amp;', '<' => '&lt;', '>' => '&gt;',
		'"' => '&quot;');
	$text =~ s/([&<>"])/$to{$1}/g;
	return $text;
}

sub form {
	return '<!DOCTYPE html><meta charset="utf-8"><title>Form</title>'
	    . '<form action="/told"><input name="user">'
	    . '<input name="password" type="password"><input name="pin">'
	    . '<button>Send</button></form>';
}

sub told {
	my ($query) = @_;
	my %given;

	for my $pair (split /&/, $query) {
		my ($name, $value) = split /=/, $pair, 2;
		$value =~ tr/+/ /;
		$value =~ s/%(..)/chr hex $1/ge;
		$given{$name} = $value;
	}
	my $basic = encode_base64("$given{user}:$given{password}", '');
	my %text = map { $_ => escaped($given{$_}) } keys %given;
	my $script = escaped($json->encode([ map { utf8::decode($_); $_ }
		@{[ @given{qw(user password)} ]} ]));
	return '<!DOCTYPE html><meta charset="utf-8"><title>Hello '
	    . "$text{user}</title>"
	    . "<body data-pin=\"$text{pin}\"><h1>$text{user}</h1>"
	    . "<p>$text{password}<p>Basic $basic<p>$text{pin}"
	    . "<p>$script<p><a href=\"?$query\">$query</a>"
	    . "<a href=\"/x?" . escaped($query) . '">again</a>';
}

sub serve {
	my ($listen) = @_;

	$SIG{PIPE} = 'IGNORE';
	while (my $c = $listen->accept) {
		my $head = '';
		while ($head !~ /\r\n\r\n/) {
			sysread($c, $head, 65536, length $head) or last;
		}
		my ($query) = $head =~ m{^GET /told\?(\S+)};
		my $body = defined $query ? told($query) : form();
		print $c "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
		    . 'Content-Length: ' . length($body)
		    . "\r\nConnection: close\r\n\r\n$body";
		close $c;
	}
}

my $listen = IO::Socket::INET->new(Listen => 8, LocalAddr => '127.0.0.1')
    or die "listen: $!\n";
my $url = 'http://127.0.0.1:' . $listen->sockport . '/';
my $site = fork() // die "fork: $!\n";
if ($site == 0) {
	serve($listen);
	POSIX::_exit(0);
}

# ---- secrets and their traces ----

sub random_hex {
	open(my $fh, '<:raw', '/dev/urandom') or die;
	read $fh, my $bytes, $_[0] / 2;
	return unpack 'H*', $bytes;
}

# Characters that every kind of text has an escape for.
sub secrets {
	my $number = 1e15 + (hex(random_hex(8)) << 16) + hex random_hex(4);
	my %login = (user => 'u' . random_hex(24),
		password => 'p ' . random_hex(24) . qq{ "<&>%41+/\\'\x{e9}},
		pin => int $number);

	push @canaries, @login{qw(user password)}, "$number";
	return \%login;
}

# The spellings in which a secret may be found. The middle of each is enough:
# random digits, which no spelling changes.
sub traces {
	return map {
		my ($hex) = /([0-9a-f]{12,})/;
		my $bytes = $_;
		utf8::encode($bytes);
		my @encoded = map {
			my $e = encode_base64(('x' x $_) . $bytes, '');
			substr $e, 4, 16;
		} 0 .. 2;
		(substr($hex, 2, 10), @encoded);
	} @canaries;
}

sub found_in {
	my ($bytes, $where) = @_;
	return map { "$where: $_" } grep { index($bytes, $_) >= 0 } traces();
}

sub slurp {
	open(my $fh, '<:raw', $_[0]) or return '';
	local $/;
	return scalar(<$fh>) // '';
}

# All files of an instance: store, spool, artifacts, log.
sub found_on_disk {
	my ($i) = @_;
	my (@found, $n);

	# Some vanish while they are looked for.
	no warnings 'File::Find';
	File::Find::find({ no_chdir => 1, wanted => sub {
		return if -l $_ || !-f _;
		$n++;
		push @found, found_in(slurp($_), $_);
	} }, $i->dir);
	return ($n > 2 ? () : 'no files', @found);
}

sub found_in_proc {
	return map {
		my $dir = "/proc/$_->{pid}";
		(found_in(slurp("$dir/cmdline"), "cmdline of $_->{cmd}"),
		    found_in(slurp("$dir/environ"), "environ of $_->{cmd}"));
	} tree();
}

# None has a core file to leave them in, nor may it ask for one.
sub could_leave_core {
	my ($i) = @_;
	return map { slurp("/proc/$_->{pid}/limits") =~
	    /^Max core file size\s+(?!0\s+0\s)(\S+)/m ?
	    "core file of $_->{cmd}: $1" : () } tree($i->{pid}),
	    { pid => $i->{pid}, cmd => 'browsertaskd' };
}

# The heap and stacks of the processes that secrets pass by.
sub found_in_memory {
	my ($i, $who) = @_;
	my (@found, $n);

	for my $p (grep { $_->{cmd} =~ /^(?:$who)\b/ } tree($i->{pid}),
	    { pid => $i->{pid}, cmd => 'browsertaskd' }) {
		open(my $mem, '<:raw', "/proc/$p->{pid}/mem") or next;
		for (split /\n/, slurp("/proc/$p->{pid}/maps")) {
			my ($from, $to) = /^(\w+)-(\w+) rw/ or next;
			my $bytes;
			sysseek $mem, hex $from, 0;
			next if !sysread $mem, $bytes, hex($to) - hex $from;
			$n++;
			push @found, found_in($bytes, "$p->{cmd} $_");
		}
	}
	return ($n // 0) > 4 ? @found : 'unread';
}

sub no_trace {
	my ($i, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	is_deeply([ found_on_disk($i), found_in_proc(), could_leave_core($i),
		found_in($heard, 'an answer') ], [], "$name: no trace");
}

# ---- runs ----

# What a client is told is kept for found_in().
sub call {
	my ($c, @args) = @_;
	my $answer = $c->call(@args);

	$heard .= $json->encode($answer) . "\n" . $ascii->encode($answer);
	return $answer;
}

sub submit {
	my ($c, $login, $how, %options) = @_;
	$submitted++;
	return call($c, 'run.submit', { templateId => $template,
		inputs => { url => $url, how => $how, login => $login },
		options => { mode => 'async', %options } });
}

# Everything that can be read of a run.
sub all_of {
	my ($c, $run) = @_;
	my %all = (run => call($c, 'run.get', { runId => $run,
		include => 'output' }));

	call($c, 'run.events', { runId => $run });
	call($c, 'run.list', {});
	for my $a (@{ call($c, 'artifact.list',
		{ runId => $run })->{artifacts} // [] }) {
		my $bytes = artifact($c, $a->{artifactId}) // '';
		utf8::decode($bytes);
		$all{ $a->{name} // $a->{kind} } = $bytes;
		$heard .= $json->encode($bytes) . $ascii->encode($bytes);
		utf8::encode($bytes);
		$heard .= $bytes;
	}
	return \%all;
}

sub instance {
	my ($mode, @settings) = @_;
	return BrowserTask::Harness->new(mode => $mode,
		settings => [ 'debug=yes', @settings ], programs => {
			workerd => "$build/t/scenario/secretworker" })->start;
}

sub test_end {
	my ($i, $c) = @_;
	my $login = secrets();
	my $run = submit($c, $login, 'end')->{runId};
	ended($c, $run);
	my $all = all_of($c, $run);
	my $r = $all->{run}{result} // {};

	is($all->{run}{status}, 'succeeded', 'a run with secrets ends well')
	    or diag explain $all->{run};
	is_deeply($r->{login}, { map { $_ => 'userdata [secret]' }
		qw(user password pin) }, 'its template cannot read them');
	like($r->{info}{url}, qr{/told\?user=\[secret\]&password=\[secret\]
		&pin=\[secret\]$}x, 'the page got them, in its address');
	is($r->{info}{title}, 'Hello [secret]', 'in its title');
	like($r->{text}, qr{^\[secret\]\n+\[secret\]\n+Basic\ \S*\[secret\]\S*
		\n+\[secret\]\n+\["\[secret\]","\[secret\]"\]\n+
		user=\[secret\]&password=\[secret\]&pin=\[secret\]}x,
	    'and in its text, in every spelling');
	is($r->{number}, '[secret]', 'even as a number');
	like($all->{'said.txt'}, qr/^http\S+\nx{59990}\[secret\]\n/,
	    'across the border of two chunks');
	is(eval { $json->decode($all->{'said.json'} // '')->{info}{title} },
	    'Hello [secret]', 'an artifact that is JSON still is');
	like($all->{'said.html'} // '', qr{<h1>\[secret\]</h1>},
	    'what items are collected to');
	my ($w) = @{ $all->{run}{warnings} // [] };
	like($w // '', qr/told\?user=\[secret\]&/, 'a warning');
	no_trace($i, 'succeeded');
}

sub test_fail {
	my ($i, $c) = @_;
	my $run = submit($c, secrets(), 'fail')->{runId};
	ended($c, $run);
	my $all = all_of($c, $run);

	is($all->{run}{status}, 'failed', 'a run that fails');
	like($all->{run}{error}{message}, qr/told\?user=\[secret\].*said: \[sec/,
	    'says so without them');
	no_trace($i, 'failed');
}

# A run that has filled in its secrets and waits.
sub hanging {
	my ($c) = @_;
	my $run = submit($c, secrets(), 'hang')->{runId};

	event($c, $run, 120, sub { $_[0]{type} eq 'phase_changed'
		&& $_[0]{data}{phase} eq 'retrying' }) or diag 'it does not hang';
	return $run;
}

sub test_deaths {
	my ($i, $c) = @_;

	for my $how (qw(cancel worker browser)) {
		my $run = hanging($c);
		my %parts = parts($i, $run);
		$how eq 'cancel' ? call($c, 'run.cancel', { runId => $run })
		    : kill 'KILL', @{ $parts{$how} };
		ended($c, $run);
		is(all_of($c, $run)->{run}{status},
		    $how eq 'cancel' ? 'canceled' : 'failed', "$how ends it");
		no_trace($i, $how);
	}
}

# The profile of a session that is kept is on a disk.
sub test_kept {
	my ($i, $c) = @_;

	$template = 'canary_kept';
	my $run = submit($c, secrets(), 'end')->{runId};
	my $r = ended($c, $run);
	is($r->{status}, 'succeeded', 'a run with a session to keep');
	all_of($c, $run);
	no_trace($i, 'its cell lives');
	$template = 'canary';
	my $answer = call($c, 'run.submit', { templateId => $template,
		sessionId => $r->{sessionId}, inputs => { url => $url,
		how => 'end', login => secrets() },
		options => { mode => 'async' } });
	is(ended($c, $answer->{runId})->{status}, 'succeeded',
	    'the next one in it gets its own secrets');
	all_of($c, $answer->{runId});
	no_trace($i, 'two runs in one session');
}

sub test_refusals {
	my ($i, $c) = @_;
	my $login = secrets();
	my $short = substr random_hex(2), 0, 2;
	my $message = sub {
		my ($change) = @_;
		return submit($c, { %$login, %$change }, 'end')->{message};
	};

	is($message->({ pin => 10 * $login->{pin} }),
	    '/inputs/login/pin: the value is secret, and not as the schema'
	    . ' wants it', 'a secret that does not fit is not quoted');
	is($message->({ password => $short }), '/inputs/login/password: the'
	    . ' value is secret, and not as the schema wants it',
	    'nor is its length told');
	like($message->({ password => { secretRef => '../x' } }),
	    qr/secretRef names no stored secret/, 'so is what is no name');
	like(submit($c, { secretRef => 'x' }, 'end')->{message},
	    qr/unknown field "secretRef"/, 'and one where no secret belongs');
	like(call($c, 'run.submit', { templateId => $template, inputs => {
		url => { secret => 0 }, login => $login } })->{message},
	    qr/stands for a secret value/, 'so is a made-up placeholder');
	is(submit($c, { %$login, pasword => 'x' }, 'end')->{message},
	    '/inputs/login: unknown field "pasword" (did you mean'
	    . ' "password"?)', 'other mistakes are named');
	no_trace($i, 'refused');
}

sub test_key {
	my ($i, $c) = @_;
	my $login = secrets();
	my $first = submit($c, $login, 'end', idempotencyKey => "k$round");
	my $again = submit($c, $login, 'end', idempotencyKey => "k$round");
	my $other = submit($c, { %$login, password => 'another' }, 'end',
		idempotencyKey => "k$round");

	is($again->{runId}, $first->{runId}, 'the same secrets, the same run');
	ok(!$again->{paramsMismatch}, 'with the same parameters');
	is($other->{runId}, $first->{runId}, 'another secret, the same key');
	ok($other->{paramsMismatch}, 'are other parameters');
	ended($c, $first->{runId});
	no_trace($i, 'known');
}

# The ways of a guess: all of the inputs are known but a number of four digits,
# and everything that was stored lies open.
sub digests_of {
	return map {
		my $bytes = $_;
		(sha256($bytes), sha1($bytes), md5($bytes),
		    sha256_hex($bytes), sha1_hex($bytes), md5_hex($bytes),
		    substr sha256($bytes), 0, 8);
	} @_;
}

sub test_guess {
	my ($i, $c) = @_;
	my $login = { user => 'u' . random_hex(24),
		password => 'p' . random_hex(24),
		pin => 1000 + hex(random_hex(4)) % 9000 };
	my %call = (templateId => $template, inputs => { url => $url,
		how => 'hang', login => $login },
		options => { mode => 'async', idempotencyKey => 'guessed' });
	my $told = "${url}told?user=%s&password=%s&pin=%s";

	push @canaries, @$login{qw(user password)};
	my $run = call($c, 'run.submit', \%call)->{runId};
	event($c, $run, 120, sub { $_[0]{type} eq 'phase_changed'
		&& $_[0]{data}{phase} eq 'retrying' });
	my $inputs = $json->encode($call{inputs});
	my $item = substr sha256(sprintf $told, ('[secret]') x 3), 0, 8;
	my $stored;
	# A commit while the store is read may move what is not read yet.
	ok(wait_until(60, sub {
		$stored = '';
		File::Find::find({ no_chdir => 1, wanted => sub {
			return if -l $_ || !-f _;
			$stored .= slurp($_);
		} }, $i->state_dir);
		my @keys = $stored =~ /digest_key\x01.{4}(?=(.{32}))/sg;
		return index($stored, $item) >= 0 && grep {
			index($stored, hmac_sha256($inputs, $_)) >= 0 } @keys;
	}), 'the inputs are known by a digest with a key, an item by one of'
	    . ' its text without secrets');
	my @plain = map { ($_, qq{"$_"}) } $login->{pin},
	    $json->encode($login), $inputs,
	    sprintf($told, @$login{qw(user password pin)});
	is(scalar(grep { index($stored, $_) >= 0 } digests_of(@plain)), 0,
	    'none without a key is of a number of four digits');

	my $again = call($c, 'run.submit', \%call);
	is($again->{runId}, $run, 'the same number, the same run');
	ok(!$again->{paramsMismatch}, 'with the same parameters');
	$login->{pin}++;
	my $other = call($c, 'run.submit', \%call);
	is($other->{runId}, $run, 'another number, the same key');
	ok($other->{paramsMismatch}, 'are other parameters');
	call($c, 'run.cancel', { runId => $run });
	ended($c, $run);
	no_trace($i, 'guessed');
}

# A connection is forgotten soon after its end.
sub test_memory {
	my ($i, $name) = @_;
	my @found;

	SKIP: {
		skip 'only root may look into them', 1 if $> != 0;
		wait_until(60, sub {
			@found = found_in_memory($i,
				'browsertaskd|supervisord|egressd|cell');
			return !@found;
		});
		is_deeply(\@found, [], "launcher, supervisord, egressd and cell"
		    . " have forgotten them: $name");
	}
}

# Frames with secrets that are not what a submission is, or are not all there.
sub test_frames {
	my ($i) = @_;
	my %call = (templateId => $template, inputs => { url => $url,
		how => 'end', login => secrets() });
	my $c = client($i);
	my $frame = '';

	{
		no warnings 'redefine';
		local *BrowserTask::Client::bytes = sub { $frame = $_[1]; 1 };
		$c->send('run.submit', \%call);
	}
	my $long = 'x' x 400_000;
	my @broken = (
		[ 'cut' => substr $frame, 0, length($frame) - 8 ],
		[ 'said to be longer' => pack('N', length($frame) + 500_000)
			. substr($frame, 4) . $long ],
		[ 'no MessagePack' => pack('N', length($frame) - 3)
			. "\xc1" . substr $frame, 4 ],
	);
	for (@broken) {
		my ($name, $bytes) = @$_;
		$c = client($i);
		$c->bytes($bytes);
		close $c->{sock};
		test_memory($i, "a frame that is $name");
	}
	$c = client($i);
	for ([ 'no such template' => templateId => 'none' ],
	    [ 'no such option' => options => { mode => 'never' } ],
	    [ 'a long input beside it' => inputs => { %{ $call{inputs} },
		url => $long, how => 'never' } ]) {
		my ($name, @change) = @$_;
		ok($c->call('run.submit', { %call, @change })->{errorCode},
		    "$name: refused");
		test_memory($i, $name);
	}
	no_trace($i, 'broken');
}

sub test_restart {
	my ($mode) = @_;
	my $i = instance($mode, 'maxConcurrentRuns=1');
	my $c = client($i);
	my $running = hanging($c);
	my $queued = submit($c, secrets(), 'end')->{runId};
	my ($p) = grep { $_->{cmd} =~ /^supervisord\b/ } tree($i->{pid});

	no_trace($i, 'waiting');
	test_memory($i, 'one runs, one waits');
	ok($> != 0 || found_in_memory($i, 'workerd') > 1,
	    'which the worker of a run has in its memory');
	kill 'KILL', $p->{pid};
	$c = wait_until(60, sub { eval { client($i) } });
	is(all_of($c, $running)->{run}{status}, 'running',
	    'another supervisord: the run goes on');
	no_trace($i, 'adopted');
	call($c, 'run.cancel', { runId => $running });
	is(ended($c, $running)->{status}, 'canceled', 'until it is canceled');
	is(ended($c, $queued)->{status}, 'succeeded',
	    'a queued one has its secrets still');

	$running = hanging($c);
	$queued = submit($c, secrets(), 'end')->{runId};
	$i->stop('KILL');
	left(60);
	$c = client($i->start);
	# The one that runs has filled them in, and is not begun again.
	for ([ 'running', $running, 'OUTCOME_UNKNOWN' ],
	    [ 'queued', $queued, 'SECRET_LOST' ]) {
		my ($name, $run, $cause) = @$_;
		ended($c, $run);
		error_is(all_of($c, $run)->{run}{error}, 'EXECUTION_ERROR',
		    $cause, "$name at a restart: it fails and its secrets are lost");
	}
	no_trace($i, 'lost');
	is($i->stop, 0, 'stop');
}

# ---- stored ones ----

# browsertaskctl secret, as the instance's user. It reads a file: a pipe would
# break when it refuses before it reads.
sub secret {
	my ($i, $dir, $value, @args) = @_;
	my $in = File::Temp::tempfile();

	print $in $value;
	seek $in, 0, 0;
	my $pid = fork() // die "fork: $!\n";
	if ($pid == 0) {
		$i->become;
		open(STDIN, '<&', $in);
		open(STDERR, '>', '/dev/null');
		exec "$build/ctl/browsertaskctl", 'secret', @args, '--dir', $dir
		    or POSIX::_exit(127);
	}
	waitpid $pid, 0;
	return $? >> 8;
}

# The three of a login, stored; what inputs name them by.
sub store {
	my ($i, $dir, $login) = @_;

	for my $name (sort keys %$login) {
		my $value = $login->{$name};
		utf8::encode($value);
		secret($i, $dir, "$value\n", 'add', "site.$name",
		    '--for-host', '127.0.0.1') == 0
		    or diag "$name was not stored";
	}
	return { map { $_ => { secretRef => "site.$_" } } keys %$login };
}

sub stored_ends {
	my ($c, $run, $name) = @_;
	ended($c, $run);
	my $r = all_of($c, $run)->{run};

	is($r->{status}, 'succeeded', $name) or diag explain $r;
	is($r->{result}{info}{title}, 'Hello [secret]', "$name: the page got it");
}

sub missing {
	my ($c, $login, $why, $name) = @_;
	my $run = submit($c, $login, 'end')->{runId};
	ended($c, $run);
	my $error = all_of($c, $run)->{run}{error};

	error_is($error, 'EXECUTION_ERROR', 'SECRET_MISSING', $name);
	like($error->{message}, $why, "$name: why");
	like($error->{recoverHint}, qr/browsertaskctl secret add/,
	    "$name: what to do");
}

sub test_stored {
	my ($mode) = @_;
	my $dir = File::Temp::tempdir(CLEANUP => 1) . '/secrets';
	chmod 0755, $dir =~ s{/secrets$}{}r;
	my $i = instance($mode, "secretsDir=$dir", 'maxConcurrentRuns=1');
	my $uid = $mode eq 'user' && $> == 0 ? BrowserTask::Harness::PLAIN_UID
	    : $>;
	chown $uid, -1, $dir =~ s{/secrets$}{}r;
	my $c = client($i);
	my $login = secrets();
	my $refs = store($i, $dir, $login);

	stored_ends($c, submit($c, $refs, 'end')->{runId}, 'stored secrets');
	stored_ends($c, submit($c, { %{ secrets() }, password =>
		$refs->{password} }, 'end')->{runId}, 'one stored, two sent');
	no_trace($i, 'stored');
	like(join("\n", map { "$_->{action} $_->{detail}" } @{
		BrowserTask::Client->new($i->admin_sock)->call('audit.list', {
		action => 'secret.use' })->{rows} // [] }),
	    qr{^secret\.use site\.user, http://127\.0\.0\.1:\d+$}m,
	    'the audit log names what was used, and where');
	my ($code, $out) = $i->ctl('secret', 'list', '--dir', $dir);
	is($code, 0, 'they can be listed');
	like($out, qr/^site\.password +everybody +127\.0\.0\.1 +\d{4}-/m, 'by name');
	is(scalar(found_in($out, 'list')), 0, 'without a value');

	missing($c, { %$refs, pin => { secretRef => 'site.pim' } },
	    qr/"site\.pim": there is none of that name/, 'one there is not');
	chmod 0640, "$dir/site.pin";
	missing($c, $refs, qr/only its owner may read/, 'one others may read');
	is(secret($i, $dir, '', 'remove', 'site.pin'), 0, 'one is removed');
	is(secret($i, $dir, '', 'remove', 'site.pin'), 4, 'once');
	missing($c, $refs, qr/there is none/, 'one that was removed');
	is(secret($i, $dir, "$login->{pin}\n", 'add', 'site.pin',
		'--for', '4242', '--any-host'), 0, 'it is stored for somebody else');
	missing($c, $refs, qr/there is none/, 'one of another user');
	is(secret($i, $dir, "$login->{pin}\n", 'add', 'site.pin',
		'--for', $>, '--for-host', '127.0.0.1'), 0,
	    'it is stored for this user');
	stored_ends($c, submit($c, $refs, 'end')->{runId}, 'an own one');
	is(secret($i, $dir, '', 'add', 'site.pin', '--any-host'), 1,
	    'no value, no secret');
	is(secret($i, $dir, 'x', 'add', '../pin', '--any-host'), 2,
	    'a path is no name');
	is(secret($i, $dir, 'x', 'add', 'site.pin'), 2, 'nor is one without'
	    . ' hosts stored');

	my $running = hanging($c);
	my $queued = submit($c, $refs, 'end')->{runId};
	my ($p) = grep { $_->{cmd} =~ /^supervisord\b/ } tree($i->{pid});
	kill 'KILL', $p->{pid};
	$c = wait_until(60, sub { eval { client($i) } });
	call($c, 'run.cancel', { runId => $running });
	ended($c, $running);
	stored_ends($c, $queued, 'queued at a restart');
	no_trace($i, 'stored, at the end');
	is($i->stop, 0, 'stop');
}

sub test_whole {
	my ($mode) = @_;
	my $i = instance($mode);
	my $c = client($i);

	my @each = ([ end => \&test_end ], [ fail => \&test_fail ],
	    [ deaths => \&test_deaths ], [ kept => \&test_kept ],
	    [ key => \&test_key ]);
	my $rounds = sized('rounds of eight runs', 1, 5);
	for my $test ((@each) x $rounds, [ refusals => \&test_refusals ],
	    [ guess => \&test_guess ],
	    [ frames => \&test_frames ],
	    [ memory => sub { test_memory($i, 'all have ended') } ]) {
		subtest $test->[0] => sub { $test->[1]->($i, $c) };
		$round++ if $test->[0] eq 'key';
	}
	figure('%s: %d secrets in %d submissions', $mode, scalar @canaries,
	    $submitted);
	is($i->stop, 0, 'stop');
}

beside(mode_parts(whole => \&test_whole, restart => \&test_restart,
	stored => \&test_stored));
kill 'KILL', $site;
waitpid $site, 0;
done_testing();
