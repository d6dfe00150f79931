#!/usr/bin/perl
# What the MCP contract wants of the service, over the control socket. The
# worker is t/scenario/scripted, which does what a run's inputs say.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use JSON::PP ();
use Test::More;

my $build = $ENV{builddir} // die "builddir is not set\n";
my $i = BrowserTask::Harness->new(
	programs => { workerd => "$build/t/scenario/scripted" },
	settings => [ 'maxConcurrentRuns=2' ])->start;
my $c = client($i);

sub client {
	my ($instance, @how) = @_;
	return BrowserTask::Client->new($instance->client_sock, @how);
}

sub script {
	my ($client, $words, %options) = @_;
	my $template = delete $options{template} // 'scripted';
	return $client->run($template, { do => [ split ' ', $words ] },
		\%options);
}

subtest 'levels of trust' => sub {
	my $remote = client($i, trust => 'remote');
	is($c->{hello}{trust}, 'local', 'a client of the socket is local');
	is($remote->{hello}{trust}, 'remote', 'one may say it is not');
	is(client($i, trust => 'local')->{hello}{trust}, 'local',
		'or that it is');
	my $p = $remote->call('profile.get');
	is($p->{trustLevel}, 'remote', 'profile: trustLevel');
	ok($p->{isRemote}, 'profile: isRemote');
	is($c->call('profile.get')->{trustLevel}, 'local',
		'of each connection');
	my $r = script($remote, 'item', mode => 'sync');
	is($r->{errorCode}, 'TRUST_LEVEL_NOT_ALLOWED',
		'a template for local clients');
	like($r->{message}, qr/trust level remote/, 'in words');
	is(script($c, 'item', mode => 'sync', template => 'remote')
		->{errorCode}, 'TRUST_LEVEL_NOT_ALLOWED',
		'one for remote clients');
	$r = script($remote, 'trust', mode => 'sync', template => 'remote');
	is($r->{result}{trust}, 'remote', 'the worker is told');
	is_deeply([ @$r{qw(status trustLevel)} ], [ 'succeeded', 'remote' ],
		'and the run says it');
	is(script($c, 'trust', mode => 'sync', template => 'fragile')
		->{result}{trust}, 'local', 'likewise a local one');
	is($remote->call('service.drain')->{details}{cause},
		'TRUST_LEVEL_NOT_ALLOWED', 'a remote client commands nothing');
	my $admin = BrowserTask::Client->new($i->admin_sock,
		trust => 'remote');
	ok(!$admin->{hello}{admin}, 'nor on the socket of administrators');
	my $odd = client($i, raw => 1);
	my $e = $odd->call('hello',
		{ proto => 1, client => 'x', trust => 'full' });
	is($e->{errorCode}, 'INVALID_PARAMETER', 'another level is refused');
	like($e->{message}, qr/trust/, 'by its name');
	ok($odd->closed, 'and the connection ends');
};

subtest 'totals of lists' => sub {
	my @runs = map { script($c, $_, mode => 'sync', template => 'fragile') }
	    ('result') x 3, 'fail:EXECUTION_ERROR';
	my $list = sub { $c->call('run.list',
		{ templateId => 'fragile', @_ }) };
	my $all = $list->(sessionId => $runs[0]{sessionId});
	is($all->{total}, 1, 'of a session');
	$all = $list->();
	my @at = map { $_->{createdAt} } @{ $all->{runs} };
	is_deeply(\@at, [ sort { $b <=> $a } @at ], 'newest first');
	is($all->{total}, scalar @at, 'all of a template');
	is($list->(limit => 1)->{total}, scalar @at, 'not of a page');
	is($list->(limit => 1, offset => 2)->{total}, scalar @at,
		'wherever it begins');
	my $page = $list->(limit => 2);
	is($list->(cursor => $page->{nextCursor})->{total}, scalar @at,
		'nor behind a cursor');
	is($list->(status => 'failed')->{total}, 1, 'of a status');
	my $since = $list->(since => $runs[2]{createdAt}, limit => 1);
	is($since->{total},
		scalar(grep { $_ >= $runs[2]{createdAt} } @at), 'since');
	is($list->(until => $runs[2]{createdAt})->{total},
		scalar(grep { $_ <= $runs[2]{createdAt} } @at), 'until');
	is($list->(since => $runs[1]{createdAt}, until => $runs[2]{createdAt},
		status => 'succeeded')->{total},
		scalar(grep { $_ >= $runs[1]{createdAt}
		    && $_ <= $runs[2]{createdAt} } @at), 'all of them');
	is($list->(since => $at[0] + 1)->{total}, 0, 'none');
};

subtest 'answers of bounded length' => sub {
	my $json = JSON::PP->new->utf8;
	my $size = sub { length $json->encode($_[0]) };
	my $full = script($c, ('long ' x 100) . 'warn', mode => 'sync',
		timeoutMs => 60000);
	cmp_ok($size->($full), '>', 90000, 'an answer is as long as it is');
	my $art = (grep { $_->{kind} eq 'task_result' } @{ $c->call(
		'artifact.list', { runId => $full->{runId} })->{artifacts} })[0];
	for my $most (4096, 24576, 65536) {
		my $r = $c->call('run.get', { runId => $full->{runId},
			maxBytes => $most });
		cmp_ok($size->($r), '<=', $most, "$most: fits");
		is_deeply($r->{result}{summary},
			{ total => 100, succeeded => 100, failed => 0 },
			"$most: the summary is there");
		is($r->{result}{truncated}{totalItems}, 100, "$most: says so");
		is($r->{result}{truncated}{shownItems},
			scalar @{ $r->{result}{items} }, "$most: what is shown");
		is($r->{result}{truncated}{artifactId}, $art->{artifactId},
			"$most: names the artifact");
		$r = $c->call('run.get', { runId => $full->{runId},
			maxBytes => $most, include => 'output' });
		cmp_ok($size->($r), '<=', $most, "$most: with output, too");
		is(scalar keys %{ $r->{output} }, 11, "$most: of eleven keys");
	}
	my $r = $c->call('run.get', { runId => $full->{runId},
		maxBytes => 1048576 });
	is_deeply($r, $full = $c->call('run.get',
		{ runId => $full->{runId} }), 'room enough changes nothing');
	$r = $c->call('run.submit', { templateId => 'scripted',
		inputs => { do => [ ('long') x 60 ] }, maxBytes => 8192,
		options => { mode => 'sync', timeoutMs => 60000 } });
	cmp_ok($size->($r), '<=', 8192, 'run.submit');
	$r = $c->call('run.list', { maxBytes => 4096 });
	cmp_ok($size->($r), '<=', 4096, 'run.list');
	my $n = @{ $r->{runs} };
	my $next = $c->call('run.list', { maxBytes => 4096,
		cursor => $r->{nextCursor} });
	is($n > 0 && $next->{runs}[0]{runId},
		$c->call('run.list', { offset => $n })->{runs}[0]{runId},
		"goes on after $n runs");
	my ($after, $seen) = (0, 0);
	my $log = $c->call('run.events', { runId => $full->{runId} });
	while (1) {
		my $e = $c->call('run.events', { runId => $full->{runId},
			afterSeq => $after, maxBytes => 4096 });
		last unless @{ $e->{events} };
		fail('too long') if $size->($e) > 4096;
		$seen += @{ $e->{events} };
		$after = $e->{lastSeq};
	}
	is($seen, scalar @{ $log->{events} }, 'run.events: piece by piece');
	is($c->call('run.get', { runId => $full->{runId}, maxBytes => 10 })
		->{errorCode}, 'INVALID_PARAMETER', 'there is a least');
};

subtest 'what a key stands for' => sub {
	my %o = (mode => 'async', idempotencyKey => 'key');
	my $r = script($c, 'item', %o);
	my $other = script($c, 'result', %o, template => 'fragile');
	isnt($other->{runId}, $r->{runId}, 'one template only');
	ok(!$other->{deduplicated}, 'the other gets a run of its own');
	is(script($c, 'item', %o)->{runId}, $r->{runId}, 'still the first');
	is(script($c, 'item', %o, speed => 1, idempotencyKey => 'new')
		->{errorCode}, 'INVALID_PARAMETER', 'a refused submission');
	is($c->run('scripted', { do => [1] }, { %o, idempotencyKey => 'new' })
		->{errorCode}, 'INVALID_PARAMETER', 'and another');
	$r = script($c, 'item', %o, idempotencyKey => 'new');
	ok($r->{runId} && !$r->{deduplicated}, 'leave the key to the next');
	$r = script($c, 'hold', %o, idempotencyKey => 'held');
	is($c->call('run.cancel', { runId => $r->{runId} })->{status},
		'canceled', 'a run is canceled');
	my $again = script($c, 'hold', %o, idempotencyKey => 'held');
	is($again->{runId}, $r->{runId}, 'it keeps its key');
	is($again->{status}, 'canceled', 'and is answered as it is');
	is(script($c, 'item', %o, idempotencyKey => $_)->{errorCode},
		'INVALID_PARAMETER', 'a key of ' . length($_) . ' bytes')
	    for '', 'x' x 257;
	ok(script($c, 'item', %o, idempotencyKey => 'x' x 256)->{runId},
		'a key of 256 bytes');
};

subtest 'pieces of an artifact' => sub {
	my $r = script($c, 'item art', mode => 'sync');
	my %of = map { $_->{kind} => $_ } @{ $c->call('artifact.list',
		{ runId => $r->{runId} })->{artifacts} };
	my $id = $of{extraction}{artifactId};
	my $size = $of{extraction}{totalSize};
	my $get = sub { $c->call('artifact.get',
		{ artifactId => $id, @_ }) };
	my $whole = $get->();

	is_deeply([ sort keys %$whole ], [ sort qw(artifactId mimeType
		totalSize offset length data complete) ], 'seven fields');
	is_deeply([ @$whole{qw(offset length totalSize complete)} ],
		[ 0, $size, $size, $BrowserTask::Client::true ], 'all of it');
	my ($text, $at) = ('', 0);
	while ($at < $size) {
		my $p = $get->(offset => $at, limit => 5);
		$text .= $p->{data};
		$at += $p->{length};
		is(!!$p->{complete}, $at == $size, "complete at $at");
		last unless $p->{length};
	}
	is($text, $whole->{data}, 'piece by piece');
	my $end = $get->(offset => $size);
	is_deeply([ @$end{qw(offset length data complete)} ],
		[ $size, 0, '', $BrowserTask::Client::true ], 'at its end');
	is($get->(offset => $size + 1)->{errorCode}, 'INVALID_PARAMETER',
		'behind its end');
	is($get->(limit => $_)->{errorCode}, 'INVALID_PARAMETER',
		"a limit of $_") for 0, 262145;
	is($get->(limit => 262144)->{length}, $size, 'one of 262144');
	is($get->(offset => -1)->{errorCode}, 'INVALID_PARAMETER',
		'before its beginning');
	is($c->call('artifact.get', { artifactId => 'art_x' })->{errorCode},
		'ARTIFACT_NOT_FOUND', 'an id that is none');
};

subtest 'every answer about a run names it' => sub {
	my $no = 'run_01ARZ3NDEKTSV4RRFFQ69G5FAV';
	is($c->call($_, { runId => $no })->{runId}, $no, "$_: unknown")
	    for qw(run.get run.cancel run.events run.follow run.unfollow
	    artifact.list);
	my $r = script($c, 'fail:EXECUTION_ERROR', mode => 'sync',
		template => 'fragile');
	is($c->call($_, { runId => $r->{runId} })->{runId}, $r->{runId},
		"$_: ended") for qw(run.get run.cancel run.events run.follow
		run.unfollow artifact.list);
	is($c->call('run.events', { runId => $r->{runId}, limit => 0 })
		->{runId}, $r->{runId}, 'a wrong request');
	my $x = $c->call('run.cancel', { runId => $r->{runId} });
	ok(defined $x->{success} && !$x->{success},
		'an ended run: success is false');
	ok($x->{reason} && !exists $x->{recoverHint},
		'with a reason, no error');
};

$i->stop;
is(left(60), '', 'no process is left');
done_testing();
