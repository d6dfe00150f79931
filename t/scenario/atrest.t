#!/usr/bin/perl
# What is stored, from outside: a check of it while the service runs and when it
# does not, a backup taken under load, and a service that goes on from it.
# Workers are scripted.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure sized);
use Digest::SHA qw(sha256_hex);
use File::Find qw(find);
use JSON::PP ();
use Test::More;
use Time::HiRes qw(time);

# Of a backup of so many runs many copies are damaged.
use constant FEW => 20;

my $runs = sized('runs that are backed up', 20, 2000);
my $flips = sized('damaged backups', 12, 500);

# All of them wait at first, and none expires before the test ends.
sub instance {
	my ($mode, %opt) = @_;
	return BrowserTask::Harness->new(mode => $mode, scripted => 1,
		settings => [ 'maxQueuedRuns=10000', 'runTtlMs=86400000' ],
		%opt)->start;
}

sub script {
	my ($c, $words, %options) = @_;
	return $c->run('scripted', { do => [ split ' ', $words ] }, \%options);
}

sub slurp {
	my ($path) = @_;
	open(my $in, '<:raw', $path) or die "$path: $!\n";
	local $/;
	return scalar <$in>;
}

sub spew {
	my ($path, $bytes) = @_;
	my ($mode, $uid, $gid) = (stat $path)[2, 4, 5];
	unlink $path;
	open(my $out, '>:raw', $path) or die "$path: $!\n";
	print $out $bytes;
	close $out or die "$path: $!\n";
	return if !defined $mode;
	chmod $mode & 07777, $path;
	chown $uid, $gid, $path;
}

sub files {
	my ($dir) = @_;
	my @files;

	find({ no_chdir => 1,
		wanted => sub { push @files, $_ if -f $_ } }, $dir);
	return map { substr $_, length($dir) + 1 } sort @files;
}

# A copy whose files are the same until one is written anew.
sub copy_dir {
	my ($from, $to) = @_;

	system('cp', '-al', '--', $from, $to) == 0 or die "cp $from $to\n";
}

# All that a client may know of these runs.
sub seen {
	my ($c, @runs) = @_;
	my %seen;

	for my $id (@runs) {
		my $r = get($c, $id, 'output,steps,error,artifacts');
		$seen{$id} = { run => $r, events =>
			$c->call('run.events', { runId => $id, limit => 500 }) };
		for my $a (@{ $c->call('artifact.list',
			{ runId => $id })->{artifacts} }) {
			$seen{$id}{ $a->{artifactId} } =
			    [ $a, sha256_hex(artifact($c, $a->{artifactId})) ];
		}
	}
	return \%seen;
}

# What is known of sessions, but for browsers that live.
sub sessions {
	my ($c) = @_;
	my $list = $c->call('session.list', {})->{sessions};

	delete $_->{living} for @$list;
	return $list;
}

sub make_runs {
	my ($c, $n) = @_;
	my @words = ('item item', 'item bad item', 'big item', 'art result',
		'item fail:INTERNAL', 'warn step:a done:a item');
	my @runs;

	for my $i (1 .. $n) {
		my $r = script($c, $words[ $i % @words ], mode => 'async',
			idempotencyKey => "key $i");
		push @runs, $r->{runId};
	}
	ended($c, $_) for @runs;
	return @runs;
}

sub fsck {
	my ($i, @args) = @_;
	my ($status, $out, $err) = $i->ctl('fsck', '--json', @args);
	my $v = eval { JSON::PP->new->decode($out) } // {};

	diag $err if $err ne '' && ($v->{sound} // 0);
	return ($status >> 8, $v, $err);
}

sub kinds {
	my ($v) = @_;
	my %kinds;
	$kinds{ $_->{fault} }++ for @{ $v->{findings} // [] };
	return join ' ', sort keys %kinds;
}

sub sums_fit {
	my ($dir) = @_;
	my %sum = map { /^(\S+)  (.*)$/ ? ($2, $1) : () }
	    split /\n/, slurp("$dir/SHA256SUMS");
	my @wrong = grep { $sum{$_} ne sha256_hex(slurp("$dir/$_")) } keys %sum;
	my @listed = sort keys %sum, 'SHA256SUMS', 'manifest.json';

	is("@wrong", '', 'each file has the sum that is listed');
	is("@{[ sort(files($dir)) ]}", "@listed", 'and all are listed');
}

# The seconds it took, and what it returns.
sub timed_all {
	my ($sub) = @_;
	my $was = time;
	my @got = $sub->();
	return (time - $was, @got);
}

# While this goes on, runs come and end all the time.
sub under_load {
	my ($i, $sub) = @_;
	my $pid = fork() // die "fork: $!\n";

	if ($pid == 0) {
		my $c = client($i);
		for (my $n = 0; ; $n++) {
			script($c, 'item big item', mode => 'sync',
				idempotencyKey => "load $n");
		}
	}
	my @got = $sub->();
	kill 'KILL', $pid;
	waitpid $pid, 0;
	return @got;
}

sub test_mode {
	my ($mode) = @_;
	my $i = instance($mode);
	my $c = client($i);
	make_runs($c, FEW);
	my $small = $i->dir . '/small';
	is(($i->ctl('backup', $small))[0], 0, 'a small backup');
	my @runs = make_runs($c, $runs);
	my $kept = $c->run('keeper', { do => [ 'state', 'result' ] },
		{ mode => 'sync' });
	my $sessions = sessions($c);
	is(scalar @$sessions, 1, 'a session is kept');
	my $seen = seen($c, @runs, $kept->{runId});
	my $backup = $i->dir . '/backup';

	my ($took, @sound) = timed_all(sub { fsck($i) });
	my ($code, $v) = @sound;
	is($code, 0, 'a service that runs: all is sound') or
	    diag explain $v;
	is($v->{runs}, $runs + 1, "$v->{runs} runs were looked at");

	left_alone($i);
	my $backed_up;
	my ($status, $out, $err) = under_load($i, sub {
		my ($s, @got) = timed_all(sub { $i->ctl('backup', $backup) });
		$backed_up = $s;
		is((fsck($i))[0], 0, 'sound under load');
		return @got;
	});
	is($status, 0, "a backup under load: $out$err");
	like($out, qr/\d+ runs, \d+ artifacts/, 'says what is in it');
	my @open = grep { (stat "$backup/$_")[2] & 077 }
	    '.', files($backup);
	is("@open", '', 'nobody else may read it');
	sums_fit($backup);
	($status, $out, $err) = $i->ctl('backup', $backup);
	isnt($status, 0, 'never over an earlier one');
	like($err, qr/exists/i, 'and says so');

	($status, $out, $err) = $i->ctl('restore', '--state-dir',
		$i->state_dir, $backup);
	is($status >> 8, 1, 'no restore over a service that runs');
	like($err, qr/a service uses/, 'for that reason');
	undef $c;
	$i->stop;
	($status, $out, $err) = $i->ctl('restore', '--state-dir',
		$i->state_dir, $backup);
	is($status >> 8, 1, 'nor over the state it left');
	like($err, qr/not empty/, 'for that reason');
	($code, $v) = fsck($i, '--state-dir', $i->state_dir);
	is($code, 0, 'what it left is sound') or diag explain $v;

	my $state = $i->dir . '/restored';
	my $restored;
	($restored, $status, $out, $err) = timed_all(sub {
		$i->ctl('restore', '--state-dir', $state, $backup) });
	is($status, 0, "restored: $out$err");
	figure('%s: %d runs: checked in %.1f s, backed up under load in %.1f s,'
	    . ' restored in %.1f s', $mode, $runs, $took, $backed_up,
	    $restored);
	my $j = instance($mode, state => $state);
	$c = client($j);
	is_deeply(seen($c, @runs, $kept->{runId}), $seen,
	    'runs, events, artifacts are as they were');
	is_deeply(sessions($c), $sessions, 'so are sessions');
	like(slurp(state_file($state, $kept)), qr/^\{"cookies":\[\]\}.{5}\z/s,
	    '... with what their browsers knew, and its checksum');
	is_deeply([ make_runs($c, $runs) ], \@runs,
	    'each key stands for its run');
	my ($admin) = BrowserTask::Client->new($j->admin_sock);
	ok($admin->call('audit.verify', {})->{sound},
	    'the audit log is sound');
	for my $action ('store.check', 'store.backup') {
		ok(@{ $admin->call('audit.list', { action => $action })
		    ->{rows} } > 0, "... and tells of $action");
	}
	is((fsck($j))[0], 0, 'the restored service is sound');
	is((script($c, 'item item', mode => 'sync'))->{status},
	    'succeeded', 'and goes on');
	read_anywhere($j, $c, $state);
	damaged_session($j, $c, $state, $kept);
	$j->stop;
	damaged($i, $small);
	damaged_state($i, $state, $kept);
}

# Who goes away in the middle of a copy leaves nothing behind.
sub left_alone {
	my ($i) = @_;
	my $c = BrowserTask::Client->new($i->admin_sock);

	ok($c->call('store.backup', {})->{accepted}, 'a copy begins');
	is(($c->event(30) // [''])->[0], 'store.file', '... with a file');
	undef $c;
	my $d = BrowserTask::Client->new($i->admin_sock);
	ok($d->call('store.check', {})->{accepted},
	    'when nobody reads it, it ends and others have their turn');
	my $plain = client($i);
	for my $name ('store.check', 'store.backup') {
		ok($plain->call($name, {})->{errorCode},
		    "$name is for administrators");
	}
	is((fsck($i))[0], 0, 'all is sound');
}

# A byte of a backup that is another one: nothing is made of it.
sub damaged {
	my ($i, $backup) = @_;
	my @files = grep { !/^(SHA256SUMS|manifest\.json)$/ } files($backup);
	my ($refused, $left) = (0, 0);

	srand 1;
	for my $n (1 .. $flips) {
		my $copy = $i->dir . '/damaged';
		my $to = $i->dir . "/made$n";
		copy_dir($backup, $copy);
		my $file = $n % 3 ? 'records' : $files[ rand @files ];
		my $bytes = slurp("$copy/$file");
		my $at = int rand length $bytes;
		substr($bytes, $at, 1) =
		    chr(ord(substr $bytes, $at, 1) ^ (1 << int rand 8));
		spew("$copy/$file", $bytes);
		my ($status, $out, $err) = $i->ctl('restore',
		    $n % 2 ? '--force' : (), '--state-dir', $to, $copy);
		$refused++ if $status >> 8 == 1;
		is($err, "browsertaskctl: $file: is not as the backup was"
		    . " written\nhint: sha256sum -c SHA256SUMS, in the backup's"
		    . ' directory, names all such files; restore another backup,'
		    . " since --force takes none of them\n",
		    'the file is named, and what to do') if $n <= 6;
		$left++ if -d $to && files($to);
		system 'rm', '-rf', $copy, $to;
	}
	is($refused, $flips, "$flips damaged backups are refused");
	is($left, 0, 'and nothing is left of them');
	my $copy = $i->dir . '/cut';
	copy_dir($backup, $copy);
	unlink "$copy/SHA256SUMS";
	my ($status, $out, $err) = $i->ctl('restore', '--state-dir',
		$i->dir . '/cutstate', $copy);
	like($err, qr/not complete/, 'one that is not complete is refused');
	system 'rm', '-rf', $copy;
}

# One bit of a file is another one.
sub flip {
	my ($path, $at) = @_;
	my $byte;

	open(my $fh, '+<:raw', $path) or die "$path: $!\n";
	sysseek $fh, $at, 0;
	sysread($fh, $byte, 1) == 1 or die "$path: $at: nothing there\n";
	sysseek $fh, $at, 0;
	syswrite $fh, $byte ^ "\x04";
	close $fh or die "$path: $!\n";
}

sub piece {
	my ($c, $id, $offset, $limit) = @_;
	return $c->call('artifact.get', { artifactId => $id,
		offset => $offset, limit => $limit });
}

# What a piece is: the bytes that were written, an error of the store, or lies.
sub verdict {
	my ($a, $bytes, $offset) = @_;

	return $a->{details}{cause} // $a->{errorCode} if $a->{errorCode};
	return 'right' if $a->{length} &&
	    $a->{data} eq substr $bytes, $offset, $a->{length};
	return 'lies';
}

# Reading that begins anywhere is held to what was written: of a file that
# nobody has read before, and of one that changes between two readings.
sub read_anywhere {
	my ($i, $c, $state) = @_;
	my ($fresh, $known) = map {
		my $r = script($c, 'big ' x 8, mode => 'sync');
		my ($large) = sort { $b->{totalSize} <=> $a->{totalSize} }
		    @{ $c->call('artifact.list',
		    { runId => $r->{runId} })->{artifacts} };
		$large->{artifactId};
	} 1, 2;
	my %path = map { $_ => (glob "$state/artifacts/*/" . substr $_, 4)[0] }
	    $fresh, $known;
	my $bytes = slurp($path{$known});
	my $size = length $bytes;
	my @at = (1, 65_535, 65_536, int($size / 2), $size - 1);
	my %got;

	cmp_ok($size, '>', 1_000_000, "an artifact of $size bytes");
	flip($path{$fresh}, $size - 5);
	$got{ verdict(piece($c, $fresh, $_, 100), $bytes, $_) }++ for @at, 0;
	is_deeply(\%got, { STORAGE_ERROR => 6 },
	    'one that is damaged is not read from anywhere');
	flip($path{$fresh}, $size - 5);
	$got{ verdict(piece($c, $fresh, $_, 100), $bytes, $_) }++ for @at, 0;
	is($got{right}, 6, '... and from everywhere, once it is mended');
	%got = ();
	for my $n (0 .. 40) {
		my $at = $n == 40 ? $size - 1 : int rand $size;
		my $from = $at - int rand 200_000;
		$from = 0 if $from < 0;
		$got{ verdict(piece($c, $known, $from, 262_144), $bytes,
		    $from) }++;
		flip($path{$known}, $at);
		$got{ verdict(piece($c, $known, $from, 262_144), $bytes,
		    $from) }++;
		$got{ verdict(piece($c, $known, $at, 1), $bytes, $at) }++;
		flip($path{$known}, $at);
	}
	is_deeply(\%got, { right => 41, STORAGE_ERROR => 82 },
	    'one that changes while it is read is refused where it did');
	is(artifact($c, $known), $bytes, 'and is right without the damage');
	like($i->log, qr/art_\S+: its bytes are not those/, 'it is logged');
}

# What the browsers of the run's session knew.
sub state_file {
	my ($state, $kept) = @_;
	return "$state/sessions/" . substr $kept->{sessionId}, 5;
}

# The warnings of the session's next run.
sub next_run {
	my ($c, $kept, @words) = @_;
	my $r = $c->call('run.submit', { templateId => 'keeper',
		inputs => { do => \@words }, sessionId => $kept->{sessionId},
		options => { mode => 'sync' } });

	is($r->{status}, 'succeeded', "its next run: @words") or
	    diag explain $r;
	return join '; ', @{ $r->{warnings} // [] };
}

# The state of a session that was changed or cut is given to no browser. A check
# finds it, the next runs say so, until one of them leaves a new one.
sub damaged_session {
	my ($i, $c, $state, $kept) = @_;
	my $path = state_file($state, $kept);
	my $bytes = slurp($path);
	my $lost = qr/the session's cookies and storage could not be restored: .* damaged/;
	my $given = 'given: {"cookies":[]}';
	my %damage = (
		'a letter of a name' => $bytes =~ s/cookies/ckokies/r,
		'a bit of its checksum' => $bytes =~ s/(.)\z/$1 ^ "\x04"/ser,
		'its end' => substr($bytes, 0, 12),
		'all of it' => '',
	);

	is(next_run($c, $kept, 'given', 'result'), $given,
	    'a sound state goes to the next run');
	for my $what (sort keys %damage) {
		spew($path, $damage{$what});
		my ($code, $v) = fsck($i);
		is("$code " . kinds($v), '1 STATE_WRONG', "$what: is found");
		is($v->{findings}[0]{sessionId}, $kept->{sessionId},
		    '... with its session');
		like($v->{findings}[0]{advice}, qr/goes on without it/,
		    '... and what comes of it');
		like(next_run($c, $kept, 'given', 'result'),
		    qr/^$lost; given: \z/, '... and no run is given it');
		like(next_run($c, $kept, 'state', 'result'), qr/^$lost\z/,
		    '... as long as it is there');
		is(next_run($c, $kept, 'given', 'result'), $given,
		    'a new one is used again');
		is((fsck($i))[0], 0, 'and sound');
	}
}

# Files of a state directory that were changed, cut, removed, added.
sub damaged_state {
	my ($i, $state, $kept) = @_;
	my @art = grep { m{^artifacts/} } files($state);
	my ($changed, $cut, $gone) = map { "$state/$_" } @art;
	my ($code, $v);

	my $bytes = slurp($changed);
	substr($bytes, 777, 1) ^= "\x01";
	spew($changed, $bytes);
	truncate $cut, 10;
	unlink $gone;
	my $extra = "$state/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV";
	spew($extra, 'x');
	flip(state_file($state, $kept), 4);
	($code, $v) = fsck($i, '--state-dir', $state);
	is($code, 1, 'a damaged state is not sound');
	is(kinds($v), 'FILE_EXTRA FILE_MISSING FILE_WRONG STATE_WRONG',
	    'for these reasons');
	is($v->{faults}{lost}, 4, 'three artifacts and a state are lost');
	is($v->{faults}{left}, 1, 'and one file is too much');
	my @told = grep { ($_->{runId} // '') =~ /^run_/ && $_->{advice} }
	    @{ $v->{findings} };
	is(scalar @told, 3, 'their runs are named, and what to do');
	my $j = instance($i->{mode}, state => $state);
	my $c = client($j);
	for my $id (map { 'art_' . (split m{/}) [-1] } @art[0 .. 2]) {
		my $a = $c->call('artifact.get', { artifactId => $id });
		is($a->{errorCode} && $a->{details}{cause}, 'STORAGE_ERROR',
		    "$id is never answered as if it were right")
		    or diag explain { %$a, data => undef };
	}
	$j->stop;
	my ($status, $out, $err) = $i->ctl('fsck', '--state-dir', $state);
	like($out, qr/NOT sound: 4 lost, 0 wrong, 0 left over/, 'in words');
}

each_mode(\&test_mode);
done_testing();
